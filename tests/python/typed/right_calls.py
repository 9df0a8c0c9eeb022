"""Calls as users write them: mypy finds nothing wrong with them."""

import pathlib
from typing import Iterator, List

import numpy as np

import intaglio


def batches() -> Iterator[np.ndarray]:
    yield np.zeros((4, 28, 28, 3), np.float32)


def calls(path: pathlib.Path) -> None:
    net = intaglio.import_onnx(path, pixels="imagenet", batch=1, shape={"image": (1, 3, 28, 28)})
    net = intaglio.import_onnx(b"", mean=(1.0, 2.0, 3.0), norm=0.5, outputs=["a", "b"], color="rgb", resize="letterbox", border=114)
    net = intaglio.import_onnx("lstm.onnx", state={"h": "h_next"}, initial={"h": np.zeros((1, 64))}, constant={"sr": 16000})
    net = intaglio.import_tflite("net.tflite", keep_dead=True)
    net = intaglio.import_openvino("net.xml", weights="net.bin", max_work=10**9)
    int8 = intaglio.calibrate(net, path)
    int8 = intaglio.calibrate(net, batches(), method="percentile", percentile=0.999, recover=["method", "bias"], symmetric=True)
    int8 = intaglio.calibrate("net.onnx", ["a.png", "b.png"], pixels="-1..1", report=path / "page.html", progress=False)
    int8 = intaglio.calibrate(net, np.zeros(3), keep_float=[3, "conv"], set=["weights:bits=4"], memory="least", min_sqnr=20)
    int8 = intaglio.calibrate(net, params="net.json", progress=lambda stage, done, total: None)
    report: intaglio.Report = intaglio.compare(net, int8, path, labels=[1, 2], threads=2)
    report = intaglio.evaluate(int8, path, "labels.txt", limit=10, skip_bad=True)
    report = intaglio.evaluate(int8, path, "labels/", score=0.5, decoder="yolov8")
    names: List[str] = report.notes
    print(names, int8.run(np.zeros((1, 28, 28, 3))), bytes(int8), int8.inputs[0].shape, intaglio.command("verify", path))
    report = intaglio.simulate(net, path, set="weights:bits=4", exact=True, limit=3)
    report = intaglio.export_c(int8, path / "firmware", target="cortex-m4", planned=True, prefix="cnn", frame="320x240:rgb565")
    report = intaglio.export_onnx(int8, "net.onnx", path, form="qoperator")
    report = intaglio.export_onnx(int8, None, path)
    report = intaglio.export_tflite("int8.itg", path)
    int8 = intaglio.plan(int8, memory=150000, ceiling=0, feed_rows=True)
    report = int8.inspect("cortex-m4", ops=True)
    print(int8.measure(threads=2), int8.bench(repeats=3, isa="scalar"))
    int8.save(path)
