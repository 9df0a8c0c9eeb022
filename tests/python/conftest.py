"""What the tests of the Python package share. ITG_COMMAND is the built command, ITG_DEMO the folder of the demo's network."""

import os
import pathlib
import signal
import subprocess

import numpy as np
import pytest

import intaglio

# A shell starts its jobs in the background with this signal ignored, and some tests press Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def demo():
    return pathlib.Path(os.environ["ITG_DEMO"])


@pytest.fixture(scope="session")
def command():
    """Runs the built command; gives its result."""
    program = os.environ["ITG_COMMAND"]

    def run(*words):
        return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True)

    return run


@pytest.fixture(scope="session")
def net(demo):
    return intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1")


@pytest.fixture(scope="session")
def pictures(demo):
    return demo / "calibration"


@pytest.fixture(scope="session")
def int8(net, pictures):
    return intaglio.calibrate(net, pictures)


@pytest.fixture(scope="session")
def samples(net):
    """Float values as the network takes them, those of pixels, [12, ...]."""
    pixels = np.random.default_rng(1).integers(0, 256, (12, *net.inputs[0].shape[1:])).astype(np.float32)
    return (pixels - np.float32(127.5)) * np.float32(1 / 127.5)


def message(*fields):
    """A protobuf message of (number, int, text or bytes) fields."""
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += bytes([number << 3]) + varint(value)
        else:
            content = value.encode() if isinstance(value, str) else value
            made += varint(number << 3 | 2) + varint(len(content)) + content
    return made


def varint(number):
    made = b""
    while number > 0x7F:
        made += bytes([number & 0x7F | 0x80])
        number >>= 7
    return made + bytes([number])


def onnx_tensor(name, *dims):
    shape = message(*((1, message((1, dim)) if dim else message((2, "open"))) for dim in dims))
    return message((1, name), (2, message((1, message((1, 1), (2, shape))))))


@pytest.fixture(scope="session")
def onnx_file():
    """Gives the bytes of an ONNX file. A node is (operator, inputs, outputs) and fields of its own; inputs and outputs are names with
    dimensions, 0 for an open one, or None for a single whole number."""

    def tensor(name, dims):
        if dims is None:
            return message((1, name), (2, message((1, message((1, 7), (2, b""))))))
        return onnx_tensor(name, *dims)

    def make(nodes, inputs, outputs):
        fields = [(1, message(*((1, x) for x in read), *((2, y) for y in written), (4, operator), *more))
                  for operator, read, written, *more in nodes]
        fields += [(2, "g"), *((11, tensor(*end)) for end in inputs.items()), *((12, tensor(*end)) for end in outputs.items())]
        return message((1, 8), (7, message(*fields)), (8, message((2, 13))))

    return make


@pytest.fixture
def recurrent():
    """y = tanh(x + h), where h is what y was before."""
    graph = message((1, message((1, "x"), (1, "h"), (2, "s"), (4, "Add"))), (1, message((1, "s"), (2, "y"), (4, "Tanh"))), (2, "g"),
                    (11, onnx_tensor("x", 1, 8)), (11, onnx_tensor("h", 1, 8)), (12, onnx_tensor("y", 1, 8)),
                    (12, onnx_tensor("s", 1, 8)))
    return intaglio.import_onnx(message((1, 8), (7, graph), (8, message((2, 13)))), state={"h": "y"}, outputs=["s", "y"])
