"""The Python blocks of the documents, and README's commands, as they stand there.

The tutorial's exporters run where their tools are: in this Python, or in that of INTAGLIO_TORCH_PYTHON and
INTAGLIO_TENSORFLOW_PYTHON."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import intaglio

ROOT = pathlib.Path(os.environ["ITG_DEMO"]).parent


def blocks(page, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def desk(demo, tmp_path, monkeypatch):
    """A folder with what the documents name, which is the present one."""
    shutil.copy(demo / "meter.onnx", tmp_path / "net.onnx")
    shutil.copy(demo / "test/digit_0001.png", tmp_path / "picture.png")
    for name, source in (("pictures", demo / "calibration"), ("test", demo / "test"), ("labels.txt", demo / "test_labels.txt")):
        (tmp_path / name).symlink_to(source)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_page(desk, demo, onnx_file):
    page = blocks("docs/python.md")
    assert len(page) == 6, "a block came or went: say here what it needs"
    pictures = np.random.default_rng(1).integers(0, 256, (32, 28, 28, 3), dtype=np.uint8)
    names = {"intaglio": intaglio, "numpy": np, "loader": [pictures[:16], pictures[16:]], "x": pictures[0]}

    def run(number):
        exec(compile(page[number], f"docs/python.md, block {number + 1}", "exec"), names)

    run(0)
    assert (desk / "net.int8.itg").exists() and (desk / "page.html").exists() and names["y"].shape == (1, 10)
    assert bytes(names["int8"]) == bytes(intaglio.open("net.int8.itg"))
    net, int8 = names["net"], names["int8"]

    kernel = (5, b"\x0a\x0ckernel_shape\x40\x02\x40\x02\xa0\x01\x07")  # the attribute kernel_shape=[2, 2]
    (desk / "net.onnx").write_bytes(onnx_file([("MaxPool", ["image"], ["y"], kernel)], {"image": (1, 3, 0, 0)}, {"y": (1, 3, 0, 0)}))
    (desk / "lstm.onnx").write_bytes(onnx_file([("Add", ["x", "h"], ["s"]), ("Tanh", ["s"], ["h_next"])],
                                               {"x": (1, 64), "h": (1, 64)}, {"s": (1, 64), "h_next": (1, 64)}))
    to_float = (5, b"\x0a\x02to\x18\x01\xa0\x01\x02")  # the attribute to=1
    (desk / "vad.onnx").write_bytes(onnx_file([("Cast", ["sr"], ["rate"], to_float), ("Mul", ["x", "rate"], ["y"])],
                                              {"x": (1, 8), "sr": None}, {"y": (1, 8)}))
    net.save("net.itg")
    run(1)
    assert names["net"].threads == 4

    names.update(net=net, int8=int8, x=pictures, y=np.arange(32) % 10)
    run(2)
    assert 0 <= names["found"].lost <= 400
    shutil.copy(demo / "meter.onnx", desk / "net.onnx")
    run(3)
    assert (desk / "firmware/net/net_model.cc").exists() and (desk / "net.int8.tflite").exists()
    names.update(pictures_of_cups=pictures[:8] // 4, pictures_of_keys=pictures[8:16] // 4 + 190, pictures_of_nothing=pictures[16])
    run(4)
    assert names["layer"].classes == 3
    (desk / "net.itg").write_bytes(b"no model at all, " * 9)
    run(5)


def test_readme_in_python(desk):
    (line,) = re.findall(r"`(intaglio\.calibrate\(.*\))`", (ROOT / "README.md").read_text())
    loader = [np.random.default_rng(1).integers(0, 256, (16, 28, 28, 3), dtype=np.uint8)]
    exec(line, {"intaglio": intaglio, "loader": loader})
    assert intaglio.open("net.int8.itg").inputs[0].picture


def test_readme_commands(desk, command):
    lines = re.findall(r"^    intaglio (.*?)(?: +#.*)?$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["import", "calibrate", "eval", "compare", "run"]
    for line in lines:
        command(*line.split())
    assert (desk / "page.html").exists()


def python_with(variable, *modules):
    """The Python that has them; skips the test where there is none."""
    python = os.environ.get(variable, sys.executable)
    if subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True).returncode != 0:
        pytest.skip(f"{python} has not all of {', '.join(modules)}; {variable} may name a Python that has")
    return python


@pytest.mark.parametrize("variable, modules, mark, network, model", [
    ("INTAGLIO_TORCH_PYTHON", ("torch", "onnx", "onnxscript"), "torch.onnx.export", "meter.onnx", """
import torch
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU6(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.Hardswish(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
    torch.nn.Linear(16, 10))
"""),
    ("INTAGLIO_TENSORFLOW_PYTHON", ("tensorflow",), "tf.lite", "meter.tflite", """
import tensorflow as tf
model = tf.keras.Sequential([
    tf.keras.Input((28, 28, 3)), tf.keras.layers.Conv2D(8, 3, padding="same", use_bias=False),
    tf.keras.layers.BatchNormalization(), tf.keras.layers.ReLU(6.0), tf.keras.layers.MaxPooling2D(2),
    tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu"), tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(10, activation="softmax")])
"""),
])
def test_tutorial_exporters(desk, command, variable, modules, mark, network, model):
    (block,) = [block for block in blocks("docs/tutorial.md") if mark in block]
    python = python_with(variable, *modules)
    said = subprocess.run([python, "-c", model + block], capture_output=True, text=True)
    assert said.returncode == 0 and "Traceback" not in said.stderr, said.stderr
    command("import", network, "-o", "net.itg", "--pixels", "-1..1")
    command("calibrate", network, "--pixels", "-1..1", "--images", "pictures", "-o", "net.int8.itg")
    assert intaglio.open("net.int8.itg").outputs[0].shape == (1, 10)
