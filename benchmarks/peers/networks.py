"""Networks of known shapes with random weights, as ONNX: time does not depend on what a weight is."""
import math

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self, side=224):
        self.random = numpy.random.default_rng(1)
        self.nodes, self.weights, self.channels, self.side = [], [], 3, side
        self.last = "input"

    def add(self, op, inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        self.last = name
        return name

    def constant(self, values):
        name = f"weights_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values.astype(numpy.float32), name))
        return name

    def conv(self, out, kernel=1, stride=1, groups=1, activation=None, source=None, channels=None):
        channels = channels or self.channels
        deviation = math.sqrt(2.0 / (channels // groups * kernel * kernel))
        weights = self.constant(self.random.normal(0, deviation, (out, channels // groups, kernel, kernel)))
        bias = self.constant(self.random.normal(0, 0.1, out))
        pad = kernel // 2
        self.add("Conv", [source or self.last, weights, bias], kernel_shape=[kernel] * 2, strides=[stride] * 2, group=groups,
                 pads=[pad] * 4)
        self.channels = out
        return self.add(activation, [self.last]) if activation else self.last

    def depthwise(self, kernel, stride, activation):
        return self.conv(self.channels, kernel, stride, self.channels, activation)

    def finish(self, classes=1000):
        self.add("GlobalAveragePool", [self.last])
        self.conv(classes)
        self.add("Flatten", [self.last])
        self.nodes[-1].output[0] = "output"
        value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "network", [value("input", [1, 3, self.side, self.side])],
                                  [value("output", [1, classes])], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def mobilenet_v1():
    n = Network()
    n.conv(32, 3, 2, activation="Relu")
    for out, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]:
        n.depthwise(3, stride, "Relu")
        n.conv(out, activation="Relu")
    return n.finish()


def resnet50():
    n = Network()
    n.conv(64, 7, 2, activation="Relu")
    n.add("MaxPool", [n.last], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for width, blocks, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for block in range(blocks):
            source, channels, step = n.last, n.channels, stride if block == 0 else 1
            n.conv(width, activation="Relu")
            n.conv(width, 3, step, activation="Relu")
            body = n.conv(4 * width)
            short = n.conv(4 * width, 1, step, source=source, channels=channels) if block == 0 else source
            n.add("Relu", [n.add("Add", [body, short])])
    return n.finish()


def mobilenet_v3():
    """MobileNetV3-Large: hard-swish, squeeze-and-excite, 5 x 5 depthwise."""
    n = Network()
    n.conv(16, 3, 2, activation="HardSwish")
    rows = [(3, 16, 16, 0, "Relu", 1), (3, 64, 24, 0, "Relu", 2), (3, 72, 24, 0, "Relu", 1), (5, 72, 40, 1, "Relu", 2),
            (5, 120, 40, 1, "Relu", 1), (5, 120, 40, 1, "Relu", 1), (3, 240, 80, 0, "HardSwish", 2), (3, 200, 80, 0, "HardSwish", 1),
            (3, 184, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1), (3, 480, 112, 1, "HardSwish", 1),
            (3, 672, 112, 1, "HardSwish", 1), (5, 672, 160, 1, "HardSwish", 2), (5, 960, 160, 1, "HardSwish", 1),
            (5, 960, 160, 1, "HardSwish", 1)]
    for kernel, wide, out, excite, activation, stride in rows:
        source, channels = n.last, n.channels
        if wide != channels:
            n.conv(wide, activation=activation)
        body = n.depthwise(kernel, stride, activation)
        if excite:
            n.add("GlobalAveragePool", [body])
            n.conv(max(8, (wide // 4 + 4) // 8 * 8), activation="Relu")
            n.conv(wide)
            n.add("Mul", [body, n.add("HardSigmoid", [n.last], alpha=1 / 6, beta=0.5)])
        n.conv(out)
        if stride == 1 and out == channels:
            n.add("Add", [n.last, source])
    n.conv(960, activation="HardSwish")
    return n.finish()


BUILDERS = {"mobilenet_v1_1.0": mobilenet_v1, "resnet50": resnet50, "mobilenet_v3_large": mobilenet_v3}


def write(name, path):
    onnx.save(onnx.shape_inference.infer_shapes(BUILDERS[name]()), str(path))
