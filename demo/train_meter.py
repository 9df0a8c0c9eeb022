#!/usr/bin/env python3
"""Trains the meter digit network on freshly rendered pictures and exports it to ONNX."""
import argparse
import pathlib
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
from jax import lax
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import render_meter

MEAN, NORM = 127.5, 1 / 127.5   # input = (pixel - MEAN) * NORM, channels R, G, B
EPSILON = 1e-5                  # of the batch normalisation
MOMENTUM = 0.95                 # of its running statistics
BATCH = 64
WEIGHT_DECAY = 1e-3


class Conv(NamedTuple):
    """Convolution without bias, batch normalisation, optional residual add, activation."""
    name: str
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    depthwise: bool = False
    residual: str = ""
    activation: str = "relu"


class MaxPool(NamedTuple):
    name: str
    kernel: int


class Dense(NamedTuple):
    name: str
    inputs: int
    outputs: int


LAYERS = (
    Conv("stem", 3, 16, kernel=3, activation="relu6"),
    MaxPool("pool", 2),
    Conv("depthwise1", 16, 16, kernel=3, depthwise=True),
    Conv("pointwise1", 16, 32),
    Conv("depthwise2", 32, 32, kernel=3, stride=2, depthwise=True),
    Conv("pointwise2", 32, 64),
    Conv("depthwise3", 64, 64, kernel=3, depthwise=True),
    Conv("pointwise3", 64, 64, residual="pointwise2"),
    Conv("expand", 64, 128),
)
CLASSIFIER = Dense("classifier", 128, render_meter.CLASSES)


def initial_parameters(rng):
    """Trainable parameters and running statistics by layer name; kernels are HWIO."""
    trained, statistics = {}, {}
    for layer in LAYERS:
        if isinstance(layer, MaxPool):
            continue
        fan_in = layer.kernel ** 2 * (1 if layer.depthwise else layer.inputs)
        shape = (layer.kernel, layer.kernel, fan_in // layer.kernel ** 2, layer.outputs)
        trained[layer.name] = {"weight": rng.normal(0, np.sqrt(2 / fan_in), shape),
                               "scale": np.ones(layer.outputs), "bias": np.zeros(layer.outputs)}
        statistics[layer.name] = {"mean": np.zeros(layer.outputs), "var": np.ones(layer.outputs)}
    shape = (CLASSIFIER.outputs, CLASSIFIER.inputs)
    trained[CLASSIFIER.name] = {"weight": rng.normal(0, np.sqrt(1 / CLASSIFIER.inputs), shape),
                                "bias": np.zeros(CLASSIFIER.outputs)}
    return jax.tree.map(jnp.float32, (trained, statistics))


def convolve(layer, x, weight):
    pad = layer.kernel // 2
    if not layer.depthwise:
        return lax.conv_general_dilated(x, weight, (layer.stride,) * 2, [(pad, pad)] * 2,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    # A sum of shifted products: XLA's grouped convolution is far slower on a CPU.
    size = (x.shape[1] + 2 * pad - layer.kernel) // layer.stride + 1
    x = jnp.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    reach = (size - 1) * layer.stride + 1
    return sum(x[:, i:i + reach:layer.stride, j:j + reach:layer.stride] * weight[i, j, 0]
               for i in range(layer.kernel) for j in range(layer.kernel))


def normalise(x, trained, statistics, training):
    """Batch normalisation; returns the output and the running statistics."""
    mean, var = statistics["mean"], statistics["var"]
    if training:
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        statistics = {"mean": MOMENTUM * statistics["mean"] + (1 - MOMENTUM) * mean,
                      "var": MOMENTUM * statistics["var"] + (1 - MOMENTUM) * var}
    return (x - mean) * lax.rsqrt(var + EPSILON) * trained["scale"] + trained["bias"], statistics


def max_pool(layer, x):
    n, h, w, c = x.shape
    k = layer.kernel
    return x.reshape(n, h // k, k, w // k, k, c).max((2, 4))


def forward(trained, statistics, x, training):
    """Logits of an NHWC batch and the updated running statistics."""
    updated, outputs = {}, {}
    for layer in LAYERS:
        if isinstance(layer, MaxPool):
            x = max_pool(layer, x)
            continue
        own = trained[layer.name]
        x = convolve(layer, x, own["weight"])
        x, updated[layer.name] = normalise(x, own, statistics[layer.name], training)
        if layer.residual:
            x = x + outputs[layer.residual]
        x = jnp.clip(x, 0, 6) if layer.activation == "relu6" else jax.nn.relu(x)
        outputs[layer.name] = x
    dense = trained[CLASSIFIER.name]
    return x.mean((1, 2)) @ dense["weight"].T + dense["bias"], updated


def preprocess(pictures):
    return (pictures.astype(np.float32) - np.float32(MEAN)) * np.float32(NORM)


def loss(trained, statistics, x, labels):
    logits, updated = forward(trained, statistics, x, True)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -picked.mean(), updated


@jax.jit
def train_step(trained, statistics, moments, step, rate, x, labels):
    """One AdamW step; vectors (scales and biases) are not decayed."""
    (value, statistics), gradient = jax.value_and_grad(loss, has_aux=True)(
        trained, statistics, x, labels)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradient)

    def update(p, m, v):
        direction = m / (1 - 0.9 ** step) / (jnp.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
        return p - rate * (direction + (WEIGHT_DECAY * p if p.ndim > 1 else 0))

    return jax.tree.map(update, trained, first, second), statistics, (first, second), value


@jax.jit
def evaluate(trained, statistics, x):
    return jax.nn.softmax(forward(trained, statistics, x, False)[0])


def accuracy(probabilities, labels):
    return float(np.mean(np.argmax(probabilities, 1) == labels))


def train(samples, epochs, peak_rate):
    rng = np.random.default_rng(render_meter.SEEDS["train"])
    pictures, labels = render_meter.render_set("train", samples)
    held_out, held_out_labels = render_meter.render_set("validation", 2000)
    trained, statistics = initial_parameters(rng)
    moments = (jax.tree.map(jnp.zeros_like, trained),) * 2
    total, step = epochs * (samples // BATCH), 0
    for epoch in range(1, epochs + 1):
        start, losses = time.time(), []
        for chosen in rng.permutation(samples)[:samples // BATCH * BATCH].reshape(-1, BATCH):
            step += 1
            rate = peak_rate * min(step / 200, 0.5 + 0.5 * np.cos(np.pi * step / total))
            trained, statistics, moments, value = train_step(
                trained, statistics, moments, float(step), rate,
                preprocess(pictures[chosen]), labels[chosen])
            losses.append(value)
        score = accuracy(evaluate(trained, statistics, preprocess(held_out)), held_out_labels)
        print(f"epoch {epoch:2d}  loss {np.mean(losses):.4f}  validation accuracy {score:.4f}"
              f"  {time.time() - start:.0f} s", flush=True)
    return jax.tree.map(np.asarray, (trained, statistics))


class Graph:
    """Collects the nodes and initializers of the exported network."""

    def __init__(self):
        self.nodes, self.initializers = [], []

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32),
                                                         name))
        return name

    def node(self, operator, inputs, name, output=None, **attributes):
        output = output or name
        self.nodes.append(helper.make_node(operator, inputs, [output], name=name, **attributes))
        return output


def export_conv(graph, layer, x, trained, statistics):
    name, pad = layer.name, layer.kernel // 2
    weight = graph.constant(f"{name}.weight", trained["weight"].transpose(3, 2, 0, 1))
    x = graph.node("Conv", [x, weight], f"{name}.conv",
                   kernel_shape=[layer.kernel] * 2, strides=[layer.stride] * 2, pads=[pad] * 4,
                   dilations=[1, 1], group=layer.inputs if layer.depthwise else 1)
    constants = [graph.constant(f"{name}.{key}", values[key]) for values, key in
                 ((trained, "scale"), (trained, "bias"), (statistics, "mean"), (statistics, "var"))]
    x = graph.node("BatchNormalization", [x] + constants, f"{name}.norm", epsilon=EPSILON)
    if layer.residual:
        x = graph.node("Add", [x, f"{layer.residual}.relu"], f"{name}.add")
    if layer.activation == "relu6":
        limits = [graph.constant(f"{name}.min", np.array(0)),
                  graph.constant(f"{name}.max", np.array(6))]
        return graph.node("Clip", [x] + limits, f"{name}.relu6")
    return graph.node("Relu", [x], f"{name}.relu")


def export(trained, statistics, path):
    graph, x = Graph(), "image"
    for layer in LAYERS:
        if isinstance(layer, MaxPool):
            x = graph.node("MaxPool", [x], layer.name,
                           kernel_shape=[layer.kernel] * 2, strides=[layer.kernel] * 2)
        else:
            x = export_conv(graph, layer, x, trained[layer.name], statistics.get(layer.name))
    x = graph.node("GlobalAveragePool", [x], "global_pool")
    x = graph.node("Flatten", [x], "flatten", axis=1)
    dense = [graph.constant(f"{CLASSIFIER.name}.{key}", trained[CLASSIFIER.name][key])
             for key in ("weight", "bias")]
    x = graph.node("Gemm", [x] + dense, CLASSIFIER.name, output="logits", transB=1)
    graph.node("Softmax", [x], "softmax", output="probabilities", axis=1)

    side = render_meter.SIZE
    value = helper.make_tensor_value_info
    network = helper.make_graph(
        graph.nodes, "meter",
        [value("image", TensorProto.FLOAT, [1, 3, side, side])],
        [value("probabilities", TensorProto.FLOAT, [1, CLASSIFIER.outputs])],
        graph.initializers)
    # IR version 7 is the one that belongs to opset 13.
    model = helper.make_model(network, opset_imports=[helper.make_opsetid("", 13)],
                              ir_version=7, producer_name="train_meter")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def read_test_set(folder):
    pairs = [line.split() for line in (folder / "test_labels.txt").read_text().splitlines()]
    pictures = np.stack([np.asarray(Image.open(folder / "test" / file)) for file, _ in pairs])
    return pictures, np.array([int(label) for _, label in pairs])


def run_onnx(path, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(["probabilities"], {"image": image[None]})[0]
                           for image in x.transpose(0, 3, 1, 2)])


def verify(trained, statistics, path, folder):
    """Runs the exported file on the PNG test set and compares it with the trained network."""
    pictures, labels = read_test_set(folder)
    x = preprocess(pictures)
    exported, own = run_onnx(path, x), np.asarray(evaluate(trained, statistics, x))
    difference = float(np.abs(exported - own).max())
    print(f"test accuracy of {path.name} {accuracy(exported, labels):.4f} on {len(labels)} "
          f"pictures, largest difference from the trained network {difference:.1e}")
    if difference > 1e-4:
        raise SystemExit("the exported network does not match the trained one")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(__file__).parent,
                        help="where the test set lies and meter.onnx goes")
    parser.add_argument("--samples", type=int, default=32000)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--rate", type=float, default=3e-3)
    arguments = parser.parse_args()
    trained, statistics = train(arguments.samples, arguments.epochs, arguments.rate)
    path = arguments.folder / "meter.onnx"
    export(trained, statistics, path)
    verify(trained, statistics, path, arguments.folder)


if __name__ == "__main__":
    main()
