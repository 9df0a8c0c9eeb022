"""ncnn and MNN as peers: int8 models in their own formats, and what runs them.

ncnn: pnnx converts the FP32 ONNX file. The package has no ncnn2int8, so what that tool writes is written here: int8 weights
with a scale a channel, a scale for each layer's input, and codes handed on where every reader of a layer is another
int8 layer. Activation scales are made up: the time does not depend on them, and results are not compared.

MNN: its converter takes TFLite's int8 files. It is called without the package's own wrapper, which would install a
cloud's log client and send what was converted.
"""
import importlib.util
import os
import pathlib
import shutil
import struct
import subprocess
import sys

INT8_TAG = struct.pack("<I", 0x000D4B38)
INPUT_SCALE = 32.0  # codes a unit
# For each layer with weights, the parameters that hold its output channels and the number of its weights.
WEIGHTED = {"Convolution": (0, 6), "ConvolutionDepthWise": (0, 6), "InnerProduct": (0, 2)}
INT8_SCALE_TERM, BIAS_TERM = 8, {"Convolution": 5, "ConvolutionDepthWise": 5, "InnerProduct": 1}


def pnnx(source, shape, work, name):
    folder = work / "ncnn"
    folder.mkdir(exist_ok=True)
    param, weights = (folder / f"{name}.ncnn.{kind}" for kind in ("param", "bin"))
    if not param.exists():
        program = pathlib.Path(importlib.util.find_spec("pnnx").origin).parent / "pnnx"
        copy = shutil.copy(source, folder / f"{name}.onnx")  # it writes beside what it reads, and names files after it
        subprocess.run([program, copy, f"inputshape=[{','.join(map(str, shape))}]", "fp16=0"], check=True, capture_output=True)
    return param, weights


class Layer:
    def __init__(self, line):
        words = line.split()
        self.kind, self.name, inputs, outputs = words[0], words[1], int(words[2]), int(words[3])
        self.inputs, self.outputs = words[4:4 + inputs], words[4 + inputs:4 + inputs + outputs]
        self.settings = dict(word.split("=") for word in words[4 + inputs + outputs:])

    def setting(self, key):
        return int(self.settings.get(str(key), 0))

    def __str__(self):
        settings = " ".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.kind} {self.name} {len(self.inputs)} {len(self.outputs)} {' '.join(self.inputs + self.outputs)} {settings}"


def read_by_int8_alone(layers, blob):
    """Whether all that reads a tensor, also by way of a Split, is int8 and takes codes."""
    readers = [layer for layer in layers if blob in layer.inputs]
    return bool(readers) and all(layer.kind in ("Convolution", "ConvolutionDepthWise") or
                                 layer.kind == "Split" and all(read_by_int8_alone(layers, out) for out in layer.outputs)
                                 for layer in readers)


def write_ncnn_int8(param, weights, target):
    """target.param and target.bin: the layers of WEIGHTED in int8."""
    import numpy
    head, count, *lines = param.read_text().splitlines()
    layers, content, at, out = [Layer(line) for line in lines], weights.read_bytes(), 0, bytearray()

    def floats(n):
        nonlocal at
        found = numpy.frombuffer(content, numpy.float32, n, at)
        at += 4 * n
        return found

    for layer in layers:
        if layer.kind not in WEIGHTED:
            continue
        channels, size = (layer.setting(key) for key in WEIGHTED[layer.kind])
        if floats(1).tobytes() != bytes(4):
            raise ValueError(f"{layer.name}: weights that are no floats")
        values = floats(size).reshape(channels, -1)
        bias = floats(channels if layer.setting(BIAS_TERM[layer.kind]) else 0)
        scales = (127.0 / numpy.maximum(numpy.abs(values).max(axis=1), 1e-12)).astype(numpy.float32)
        codes = numpy.rint(values * scales[:, None]).astype(numpy.int8).tobytes()
        hands_on_codes = layer.kind != "InnerProduct" and read_by_int8_alone(layers, layer.outputs[0])
        layer.settings[str(INT8_SCALE_TERM)] = "101" if hands_on_codes else "1"
        out += INT8_TAG + codes + bytes(-len(codes) % 4) + bias.tobytes() + scales.tobytes() + struct.pack("<f", INPUT_SCALE)
        if hands_on_codes:
            out += struct.pack("<f", INPUT_SCALE)
    if at != len(content):
        raise ValueError(f"{param}: a layer with weights that is none of {', '.join(WEIGHTED)}")
    target.with_suffix(".bin").write_bytes(out)
    target.with_suffix(".param").write_text("\n".join([head, count, *map(str, layers)]) + "\n")


def ncnn_run(source, shape, work, name, threads):
    """A function that runs the network once, on zeros."""
    target = work / "ncnn" / f"{name}-int8.x"
    if not target.with_suffix(".param").exists():
        write_ncnn_int8(*pnnx(source, shape, work, name), target)
    return ncnn_session(target, shape, threads)


def ncnn_session(target, shape, threads):
    import ncnn
    import numpy
    net = ncnn.Net()
    net.opt.num_threads, net.opt.use_vulkan_compute = threads, False
    if net.load_param(str(target.with_suffix(".param"))) != 0 or net.load_model(str(target.with_suffix(".bin"))) != 0:
        raise RuntimeError(f"ncnn does not load {target}")
    x = ncnn.Mat(numpy.zeros(shape[1:], numpy.float32))

    def run():
        extractor = net.create_extractor()
        extractor.input("in0", x)
        extractor.extract("out0")
    return run


MNN_CONVERT = "import _tools, sys; _tools.mnnconvert(['mnnconvert', '-f', 'TFLITE', '--modelFile', sys.argv[1], '--MNNModel', sys.argv[2], '--bizCode', 'x'])"


def mnn_model(tflite, work, name):
    target = work / f"{name}.mnn"
    if not target.exists():
        subprocess.run([sys.executable, "-c", MNN_CONVERT, tflite, target], check=True, capture_output=True)
    return target


def mnn_session(target, threads):
    import MNN
    net = MNN.Interpreter(str(target))
    session = net.createSession({"backend": "CPU", "numThread": threads, "precision": "normal"})
    return lambda net=net: net.runSession(session)


def mnn_run(tflite, work, name, threads):
    """None where MNN crashes on it, which a process of its own finds out."""
    target = mnn_model(tflite, work, name)
    tried = subprocess.run([sys.executable, "-c", "import mobile_peers, sys; run = mobile_peers.mnn_session(sys.argv[1], int(sys.argv[2])); [run() for _ in range(200)]",
                            target, str(threads)], capture_output=True, env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)})
    return mnn_session(target, threads) if tried.returncode == 0 else None
