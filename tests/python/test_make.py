"""Import, calibration, comparison: the same bytes and figures as the command's."""

import io
import json
import os
import pathlib
import pickle
import re
import signal
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest

import intaglio


def png(pixels):
    """The picture [h, w, 3] as a file."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + width * 3), np.uint8)  # each begins with the number of its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows.tobytes(), 1)) + chunk(b"IEND", b""))


def test_import_gives_the_commands_bytes(demo, command, net, tmp_path):
    command("import", demo / "meter.onnx", "-o", tmp_path / "net.itg", "--pixels", "-1..1")
    assert bytes(net) == (tmp_path / "net.itg").read_bytes()
    content = (demo / "meter.onnx").read_bytes()
    assert bytes(intaglio.import_onnx(content, pixels="-1..1")) == bytes(net)
    with open(demo / "meter.onnx", "rb") as file:
        assert bytes(intaglio.import_onnx(file, pixels="-1..1")) == bytes(net)


def test_keywords_are_the_commands_options(demo, command, tmp_path):
    command("import", demo / "meter.onnx", "-o", tmp_path / "net.itg", "--mean", "127.5", "--norm", repr(1 / 127.5),
            "--color", "bgr", "--resize", "letterbox")
    made = intaglio.import_onnx(demo / "meter.onnx", mean=127.5, norm=1 / 127.5, color="bgr", resize="letterbox")
    assert bytes(made) == (tmp_path / "net.itg").read_bytes()


def test_answers_say_what_the_outputs_are(demo, net, samples):
    told = intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1", answers="values")
    assert [tensor["answer"] for tensor in told.report["outputs"]] == ["values"]
    assert [tensor["answer"] for tensor in net.report["outputs"]] == ["classes"]
    made = intaglio.calibrate(told, samples)
    found = intaglio.compare(told, made, samples)
    for figures in (made.report, found):
        assert figures["agreement"] is None
        assert 0 < figures["errors"][0]["mean"] <= figures["errors"][0]["largest"]
    assert intaglio.compare(net, intaglio.calibrate(net, samples), samples)["errors"] == []
    assert bytes(intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1", answers=["values"])) == bytes(told)
    with pytest.raises(intaglio.Error, match="'pictures' is none of classes"):
        intaglio.import_onnx(demo / "meter.onnx", answers="pictures")


def test_raw_frames_are_samples(net, samples, command, tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    pixels = np.random.default_rng(2).integers(0, 256, (5, 20, 48), dtype=np.uint8)  # 20 rows of 20 pixels of RGB565, and gaps
    for i, frame in enumerate(pixels):
        (folder / f"{i}.bin").write_bytes(frame.tobytes())
    net.save(tmp_path / "net.itg")
    command("calibrate", tmp_path / "net.itg", "--images", folder, "-o", tmp_path / "int8.itg", "--frame", "20x20:rgb565", "--row-bytes", 48)
    made = intaglio.calibrate(net, folder, frame="20x20:rgb565", row_bytes=48)
    assert bytes(made) == (tmp_path / "int8.itg").read_bytes()
    assert intaglio.compare(net, made, folder, frame="20x20:rgb565", row_bytes=48)["sqnr_db"] > 10
    for options, text in (({"frame": "20x20:rgb565"}, "0.bin: has 960 bytes, and a frame of 20 x 20 has 800"),
                          ({"frame": "20x20:rgb565", "row_bytes": 39}, "row_bytes=39: a row of 20x20:rgb565 has 40 bytes"),
                          ({"frame": "20:rgb"}, "a frame is WIDTHxHEIGHT:ORDER"), ({"row_bytes": 48}, "raw frames")):
        with pytest.raises((intaglio.Error, TypeError, ValueError), match=text):
            intaglio.calibrate(net, folder, **options)
    with pytest.raises(intaglio.Error, match="is an array, and files of frames are asked for"):
        intaglio.calibrate(net, samples, frame="20x20:rgb565")


def test_a_ceiling_and_a_profile(net, samples):
    made = intaglio.calibrate(net, samples, ceiling=123456)
    assert made.inspect()["memory_ceiling"] == 123456
    assert net.inspect()["memory_ceiling"] is None
    assert made.run(samples[:1]).shape == net.run(samples[:1]).shape  # whatever it takes here
    for options, text in (({"ceiling": -1}, "ceiling: -1 is not in 0 to 2147483648"), ({"profile": "phone"}, "neither 'host' nor 'device'"),
                          ({"ceiling": 10}, "ceiling=10: the activations alone take"),
                          ({"profile": "device", "min_sqnr": 20}, "a device does not run the samples again")):
        with pytest.raises((intaglio.Error, TypeError, ValueError), match=text):
            intaglio.calibrate(net, samples, **options)


@pytest.mark.parametrize("options, words", [
    ({}, []),
    ({"method": "mse", "recover": "none"}, ["--method", "mse", "--recover", "none"]),
    ({"int8_answers": True, "limit": 8}, ["--int8-answers", "--limit", "8"]),
    ({"profile": "device", "ceiling": 10**6}, ["--profile", "device", "--ceiling", "1000000"]),
])
def test_calibration_gives_the_commands_bytes(demo, command, net, pictures, tmp_path, options, words):
    net.save(tmp_path / "net.itg")
    said = command("calibrate", tmp_path / "net.itg", "--images", pictures, "-o", tmp_path / "int8.itg", "--json", *words)
    made = intaglio.calibrate(net, pictures, **options)
    assert bytes(made) == (tmp_path / "int8.itg").read_bytes()
    figures = json.loads(said.stdout)
    for name in ("images", "sqnr_db", "agreement", "judged", "sha256", "verdict"):
        assert made.report[name] == figures[name]


def test_a_remedy_is_tried(net, pictures):
    assert intaglio.calibrate(net, pictures).report["trial"] is None
    report = intaglio.calibrate(net, pictures, weight_bits=2).report
    trial = report["trial"]
    assert trial["helps"] and trial["left_out"] == ["weight-bits"] and trial["gain_db"] >= 1
    assert report["remedy"].startswith("without weight_bits=: that gains ")
    assert min(trial["ms"], trial["ms_int8"], trial["ms_fp32"]) > 0


def test_arrays_and_iterables_give_the_bytes_of_an_npy_file(command, net, samples, tmp_path):
    np.save(tmp_path / "x.npy", samples)
    net.save(tmp_path / "net.itg")
    command("calibrate", tmp_path / "net.itg", "--images", tmp_path / "x.npy", "-o", tmp_path / "int8.itg")
    wanted = (tmp_path / "int8.itg").read_bytes()
    channels_first = np.moveaxis(samples, -1, 1)
    labels = np.zeros(4, np.int64)
    given = {
        "path": str(tmp_path / "x.npy"),
        "array": samples,
        "not contiguous": np.asfortranarray(samples),
        "channels first": channels_first,
        "list of batches": [samples[:5], samples[5:]],
        "single samples": list(samples),
        "generator": (samples[i:i + 4] for i in range(0, 12, 4)),
        "pairs of a data loader": [(channels_first[i:i + 4], labels) for i in range(0, 12, 4)],
        "lists of a data loader": [[samples[i:i + 4], labels] for i in range(0, 12, 4)],
        "dicts": [{net.inputs[0].name: samples[i:i + 4]} for i in range(0, 12, 4)],
        "dict of arrays": {net.inputs[0].name: samples},
        "dict of a path": {net.inputs[0].name: tmp_path / "x.npy"},
        "other order": samples[::-1],
    }
    for what, batches in given.items():
        assert bytes(intaglio.calibrate(net, batches)) == wanted, what


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, np.int16])
def test_other_types_give_the_bytes_of_their_npy_file(command, net, samples, tmp_path, dtype):
    array = (samples * 100).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    net.save(tmp_path / "net.itg")
    command("calibrate", tmp_path / "net.itg", "--images", tmp_path / "x.npy", "-o", tmp_path / "int8.itg")
    command("run", tmp_path / "net.itg", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that no pixel gives these values
        assert bytes(intaglio.calibrate(net, array)) == (tmp_path / "int8.itg").read_bytes()
    np.testing.assert_array_equal(net.run(array), np.load(tmp_path / "y.npy"))


class Tensor:
    """As torch's, which is not needed for that."""

    dtype = "torch.float32"

    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


def test_tensors_are_taken_as_arrays(net, samples):
    wanted = bytes(intaglio.calibrate(net, samples))
    loader = [(Tensor(np.moveaxis(samples[i:i + 6], -1, 1)), Tensor(np.zeros(6))) for i in (0, 6)]
    assert bytes(intaglio.calibrate(net, loader)) == wanted
    np.testing.assert_array_equal(net.run(Tensor(samples)), net.run(samples))


def test_torch(net, samples):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.from_numpy(np.moveaxis(samples, -1, 1).copy()), torch.zeros(12))
    loader = torch.utils.data.DataLoader(data, batch_size=5)
    assert bytes(intaglio.calibrate(net, loader)) == bytes(intaglio.calibrate(net, samples))


def test_pictures_as_arrays_give_the_bytes_of_their_npy_file(command, net, tmp_path):
    grays = np.random.default_rng(2).integers(0, 256, (9, 40, 30), np.uint8)
    np.save(tmp_path / "p.npy", grays)
    net.save(tmp_path / "net.itg")
    command("calibrate", tmp_path / "net.itg", "--images", tmp_path / "p.npy", "-o", tmp_path / "int8.itg")
    wanted = (tmp_path / "int8.itg").read_bytes()
    assert bytes(intaglio.calibrate(net, grays)) == wanted
    assert bytes(intaglio.calibrate(net, (picture for picture in grays))) == wanted


def test_report_page_names_what_the_user_named(net, pictures, tmp_path):
    int8 = intaglio.calibrate(net, pictures, report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<html" in page and "meter.onnx" in page and "intaglio-" not in page
    assert bytes(int8) == bytes(intaglio.calibrate(net, pictures))


def test_page_of_a_hostile_name(demo, pictures, tmp_path):
    net = intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1")
    path = tmp_path / "<img src=x onerror=alert(1)>.itg"
    net.save(path)
    intaglio.calibrate(intaglio.open(path), pictures, report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<img" not in page and "&lt;img src=x onerror=alert(1)&gt;.itg" in page


def test_page_advises_in_pythons_words(demo, pictures, tmp_path):
    net = intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1")
    intaglio.calibrate(net, pictures, set="weights:bits=3", report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    nodes = re.search(r'Calibrate <code class="long">keep_float=&#39;(@[@,0-9]+)&#39;</code>', page)
    assert nodes and "<pre>" not in page and "intaglio calibrate" not in page
    intaglio.calibrate(net, pictures, set="weights:bits=3", keep_float=nodes.group(1))


def test_import_reports_what_the_command_says(demo, command, net, tmp_path):
    said = json.loads(command("import", demo / "meter.onnx", "-o", tmp_path / "n.itg", "--pixels", "-1..1", "--json").stdout)
    assert net.report.nodes == said["nodes"] and net.report.weight_bytes == said["weight_bytes"]
    assert list(net.report.inputs) == said["inputs"] and net.report.notes == said["notes"]


def test_pictures_by_their_paths_give_the_bytes_of_their_folder(net, pictures, int8):
    assert bytes(intaglio.calibrate(net, sorted(pictures.iterdir()))) == bytes(int8)
    assert bytes(intaglio.calibrate(net, {net.inputs[0].name: [str(path) for path in pictures.iterdir()]})) == bytes(int8)


def test_calibration_keeps_how_the_network_runs(net, samples):
    int8 = intaglio.calibrate(intaglio.open(bytes(net), threads=2, isa="scalar"), samples)
    assert int8.threads == 2 and int8.isa == "scalar"


def test_names_that_begin_with_a_dash(demo, net, monkeypatch, tmp_path):
    (tmp_path / "-net.onnx").write_bytes((demo / "meter.onnx").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert bytes(intaglio.import_onnx("-net.onnx", pixels="-1..1")) == bytes(net)


def test_warnings_name_the_callers_line(net, samples):
    with pytest.warns(UserWarning) as warned:
        intaglio.calibrate(net, (samples * 100).astype(np.int16))  # that no pixel gives these values
    assert {one.filename for one in warned} == {__file__}


def test_a_star_leaves_pythons_open():
    names = {}
    exec("from intaglio import *", names)
    assert "open" not in names and "calibrate" in names


def test_compare_is_the_commands(command, net, int8, pictures, tmp_path):
    net.save(tmp_path / "net.itg")
    int8.save(tmp_path / "int8.itg")
    figures = json.loads(command("compare", tmp_path / "net.itg", tmp_path / "int8.itg", "--images", pictures, "--json").stdout)
    compared = intaglio.compare(net, int8, pictures)
    assert compared.sqnr_db == figures["sqnr_db"] and list(compared.layers) == figures["layers"]
    worst = compared.layers.sorted_by("sqnr_db")
    numbers = [v for v in worst.column("sqnr_db") if v is not None]
    assert numbers == sorted(numbers) and len(worst) == len(figures["layers"])
    for text in (str(compared), compared._repr_html_(), compared.layers._repr_html_()):
        assert figures["layers"][0]["name"] in text


def test_a_detectors_boxes_are_counted(command, onnx_file, tmp_path):
    """The network's one box is its picture: its six gray pixels are corners, score and class."""
    net = intaglio.import_onnx(onnx_file([("Flatten", ["x"], ["y"])], {"x": (1, 3, 2, 1)}, {"y": (1, 6)}), pixels="0..255")
    net.save(tmp_path / "net.itg")
    for folder in ("pictures", "labels"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pictures" / "1.png").write_bytes(png(np.array([[0, 0], [1, 2], [1, 0]], np.uint8).repeat(3).reshape(3, 2, 3)))
    (tmp_path / "labels" / "1.txt").write_text("0 0.5 0.5 1 1\n")
    paths = tmp_path / "net.itg", "--images", tmp_path / "pictures", "--labels", tmp_path / "labels", "--json"
    found = intaglio.evaluate(net, tmp_path / "pictures", tmp_path / "labels")
    assert dict(found) == json.loads(command("eval", *paths).stdout)
    assert found.f1 == found.map50 == 1 and found.decoder == "rows"
    assert dict(intaglio.evaluate(net, [tmp_path / "pictures" / "1.png"], tmp_path / "labels", score=0.5, decoder="rows"))["score"] == 0.5
    compared = intaglio.compare(net, net, tmp_path / "pictures", labels=tmp_path / "labels").detections
    assert compared.right == compared.pictures == 1 and compared.f1 == compared.labels_b.f1 == 1
    with pytest.raises(intaglio.Error, match="score: 1.5 is not in 0 to 1"):
        intaglio.compare(net, net, tmp_path / "pictures", score=1.5)
    with pytest.raises(intaglio.Error, match="decoder=yolo: there is no such decoder"):
        intaglio.evaluate(net, tmp_path / "pictures", tmp_path / "labels", decoder="yolo")
    (tmp_path / "labels" / "1.txt").write_text("0 0.5 0.5 1\n")
    with pytest.raises(intaglio.Error, match="1.txt line 1: has 4 words"):
        intaglio.evaluate(net, tmp_path / "pictures", tmp_path / "labels")


def test_evaluate_counts_right_classes(command, int8, demo, tmp_path):
    int8.save(tmp_path / "int8.itg")
    figures = json.loads(command("eval", tmp_path / "int8.itg", "--images", demo / "test", "--labels", demo / "test_labels.txt",
                                 "--json").stdout)
    assert dict(intaglio.evaluate(int8, demo / "test", demo / "test_labels.txt")) == figures
    x = np.random.default_rng(3).uniform(-1, 1, (6, *int8.inputs[0].shape[1:])).astype(np.float32)
    right = int8.run(x).reshape(6, -1).argmax(1)
    assert intaglio.evaluate(int8, x, right).top1 == 100
    assert intaglio.evaluate(int8, x, [(right[0] + 1) % 10, *right[1:]]).top1 == pytest.approx(100 * 5 / 6)


def test_save_open_pickle_and_command(net, tmp_path):
    net.save(tmp_path / "net.itg")
    for again in (intaglio.open(tmp_path / "net.itg"), intaglio.open(bytes(net)), pickle.loads(pickle.dumps(net))):
        assert bytes(again) == bytes(net) and again.inputs == net.inputs and again.outputs == net.outputs
    assert "input" in intaglio.command("inspect", tmp_path / "net.itg")


def test_measure_is_exact_for_a_target(command, int8, tmp_path):
    int8.save(tmp_path / "int8.itg")
    wanted = json.loads(command("inspect", tmp_path / "int8.itg", "--target", "cortex-m4", "--json").stdout)["session"]
    assert dict(int8.measure("cortex-m4")) == wanted
    assert dict(int8.measure("cortex-m4")) != dict(int8.measure("cortex-m55"))


def test_inspect_estimates_the_time_of_a_run(command, int8, tmp_path):
    int8.save(tmp_path / "int8.itg")
    said = command("inspect", tmp_path / "int8.itg", "--target", "cortex-m4", "--clock", 120, "--chip", "stm32l4r5", "--json").stdout
    estimate = int8.inspect("cortex-m4", clock=120, chip="stm32l4r5")["estimate"]
    wanted = json.loads(said)["estimate"]
    assert [dict(node) for node in estimate["nodes"]] == wanted.pop("nodes")
    assert {name: estimate[name] for name in wanted} == wanted
    assert estimate["cycles"] > int8.inspect("cortex-m4", clock=120)["estimate"]["cycles"] > 0
    assert "estimate" not in int8.inspect("cortex-m4")


def test_progress_is_told_and_can_end_the_work(net, pictures):
    stages = []
    intaglio.calibrate(net, pictures, progress=lambda stage, done, total: stages.append((stage, done, total)))
    assert len({stage for stage, _, _ in stages}) > 1 and all(done <= total for _, done, total in stages)

    class Enough(Exception):
        pass

    def stop(stage, done, total):
        raise Enough(stage)

    with pytest.raises(Enough):
        intaglio.calibrate(net, pictures, progress=stop)
    for last in {stage for stage, _, _ in stages}:  # at each stage, of the library's and of the command's

        def stop_there(stage, done, total):
            if stage == last:
                raise Enough(stage)

        with pytest.raises(Enough, match=last):
            intaglio.calibrate(net, pictures, progress=stop_there)
    assert bytes(intaglio.calibrate(net, pictures)) == bytes(intaglio.calibrate(net, pictures))


def test_pictures_of_several_sizes_stand_in_one_list(net, tmp_path):

    random = np.random.default_rng(7)
    pictures = [random.integers(0, 256, (*size, 3), dtype=np.uint8) for size in [(40, 30)] * 5 + [(31, 50), (28, 28), (64, 20)]]
    for k, picture in enumerate(pictures):
        (tmp_path / f"{k}.png").write_bytes(png(picture))
    wanted = bytes(intaglio.calibrate(net, tmp_path))
    assert bytes(intaglio.calibrate(net, pictures)) == wanted
    assert bytes(intaglio.calibrate(net, (picture for picture in reversed(pictures)))) == wanted
    assert bytes(intaglio.calibrate(net, {net.inputs[0].name: pictures})) == wanted
    assert bytes(intaglio.calibrate(net, [np.stack(pictures[:5]), *pictures[5:]])) == wanted
    labels = net.run(np.stack(pictures[:5])).argmax(1).tolist() + [int(net.run(picture).argmax()) for picture in pictures[5:]]
    assert intaglio.evaluate(net, pictures, labels).top1 == 100  # in their order
    paths = [tmp_path / f"{k}.png" for k in range(8)]
    assert intaglio.evaluate(net, paths, labels).top1 == 100
    assert intaglio.evaluate(net, {net.inputs[0].name: paths}, labels).top1 == 100
    with pytest.raises(ValueError, match="7 class numbers for 8 samples"):
        intaglio.evaluate(net, paths, labels[:7])
    with pytest.raises(TypeError, match="batches.5.: holds float32, and those before it uint8"):
        intaglio.calibrate(net, [*pictures[:3], pictures[5], pictures[6], np.zeros((1, 28, 28, 3), np.float32)])
    with pytest.raises(ValueError, match="batches.1.: has the shape"):
        intaglio.calibrate(net, [np.zeros((28, 28, 3), np.float32), np.zeros((14, 14, 3), np.float32)])


def test_calibrate_takes_a_networks_file(command, demo, pictures, tmp_path):
    command("calibrate", demo / "meter.onnx", "--pixels", "-1..1", "--images", pictures, "-o", tmp_path / "int8.itg")
    int8 = intaglio.calibrate(demo / "meter.onnx", pictures, pixels="-1..1")
    assert bytes(int8) == (tmp_path / "int8.itg").read_bytes()
    assert any("NHWC" in note for note in int8.report.notes)
    with pytest.raises(TypeError, match="pixels: .* is a model, which holds what its import was told"):
        intaglio.calibrate(tmp_path / "int8.itg", pictures, pixels="-1..1")


def test_a_line_shows_how_far_the_work_is(net, pictures, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def shown(stream, **options):
        monkeypatch.setattr(sys, "stderr", stream)
        intaglio.calibrate(net, pictures, **options)
        monkeypatch.undo()
        return stream.getvalue()

    said = shown(Terminal())
    assert "] step 1 of 6: calibrating 0/16" in said and "step 6 of 6: held out" in said
    assert said.rsplit("\r", 2)[1].strip() == ""  # the line is gone in the end
    bars = [line.count("=") for line in said.split("\r") if line.startswith("[")]
    assert bars == sorted(bars)
    assert shown(io.StringIO()) == "" and shown(Terminal(), progress=False) == ""
    assert "calibrating" in shown(io.StringIO(), progress=True)
    assert shown(Terminal(), progress=lambda *stage: None) == ""


def test_a_comparison_shows_a_chart_in_notebooks(net, int8, pictures):
    found = intaglio.compare(net, int8, pictures)
    page = found._repr_html_()
    assert page.count("<svg") == 1 and page.count("<circle") == sum(layer["sqnr_db"] is not None for layer in found.layers)
    first = next(layer for layer in found.layers if layer["sqnr_db"] is not None)
    assert f"{first['name']}, {first['sqnr_db']:.1f} dB" in page
    assert "<svg" not in net.inspect()._repr_html_()


def test_parts_that_were_observed_add_up(command, net, pictures, tmp_path):
    names = sorted(pictures.iterdir())
    parts = [intaglio.observe(net, names[:6]), intaglio.observe(net, names[6:])]
    seen = sum(parts)
    assert seen.samples == 16 and seen == parts[1] + parts[0] == pickle.loads(pickle.dumps(seen))
    net.save(tmp_path / "net.itg")
    command("observe", tmp_path / "net.itg", "--images", pictures, "-o", tmp_path / "all.itgcal")
    assert bytes(seen) == (tmp_path / "all.itgcal").read_bytes()
    command("calibrate", tmp_path / "net.itg", "--from", tmp_path / "all.itgcal", "-o", tmp_path / "int8.itg")
    made = intaglio.calibrate(net, observed=seen)
    assert bytes(made) == (tmp_path / "int8.itg").read_bytes() == bytes(intaglio.calibrate(net, observed=tmp_path / "all.itgcal"))
    assert made.report["verdict"] is None and made.report["images"] == 0
    assert intaglio.Observed.merged(parts) == seen
    singles = [intaglio.observe(net, [name]) for name in names[:3]]
    bounded = intaglio.Observed.merged(singles, most_of_one=0.1)
    assert bounded == intaglio.Observed.merged(reversed(singles), most_of_one=0.1) != sum(singles)
    with pytest.raises(intaglio.Error, match="most_of_one=: of fewer than three"):
        intaglio.Observed.merged(parts, most_of_one=0.1)
    with pytest.raises(ValueError, match="most_of_one: is 2"):
        intaglio.Observed.merged(singles, most_of_one=2)
    seen.save(tmp_path / "seen.itgcal")
    assert intaglio.Observed.of(tmp_path / "seen.itgcal") == seen
    with pytest.raises(intaglio.Error, match="part 1: holds just the samples of part 0"):
        parts[0] + parts[0]
    with pytest.raises(intaglio.Error, match="observed: is no calibration state; give what intaglio.observe made"):
        intaglio.Observed(b"none")
    with pytest.raises(intaglio.Error, match="observed.* other options"):
        intaglio.calibrate(net, observed=seen, compat="tengine")
    with pytest.raises(TypeError):
        parts[0] + 1
    with pytest.raises(TypeError, match="observed: is nothing that observe"):
        intaglio.calibrate(net, observed=3)


def test_questions_and_answers_make_the_model_of_all_samples(net, pictures, tmp_path):
    names = sorted(pictures.iterdir())
    parts = [names[:6], names[6:9], names[9:]]
    said, rounds = [sum(intaglio.observe(net, part) for part in parts)], 0
    while said:
        rounds += 1
        try:
            made, said = intaglio.calibrate(net, observed=said, question=True), None
        except intaglio.Question as asked:
            assert bytes(pickle.loads(pickle.dumps(asked))) == bytes(asked)
            with pytest.raises(intaglio.Error, match="asks 16 samples, and the answers are of 6"):
                intaglio.calibrate(net, observed=[asked, intaglio.observe(net, parts[0], question=asked)], question=True)
            with pytest.raises(intaglio.Error, match="asks about another calibration"):
                intaglio.observe(net, parts[0], question=asked, symmetric=True)
            said = [asked, sum(intaglio.observe(net, part, question=asked) for part in parts)]
    assert rounds <= 8
    assert bytes(made) == bytes(intaglio.calibrate(net, pictures))
    asked = pytest.raises(intaglio.Question, intaglio.calibrate, net, observed=[intaglio.observe(net, parts[0])], question=True).value
    asked.save(tmp_path / "next.itgq")
    assert (tmp_path / "next.itgq").read_bytes() == bytes(asked)


def test_many_workers_make_the_same_model(command, net, pictures, tmp_path):
    net.save(tmp_path / "net.itg")
    command("calibrate", tmp_path / "net.itg", "--images", pictures, "-o", tmp_path / "int8.itg")
    program = pathlib.Path(__file__).parents[2] / "examples" / "many_workers" / "calibrate_many.py"
    said = subprocess.run([sys.executable, str(program), str(tmp_path / "net.itg"), str(pictures), "-o", str(tmp_path / "many.itg"),
                           "--workers", "2", "--part", "5"], capture_output=True, text=True, check=True)
    assert (tmp_path / "many.itg").read_bytes() == (tmp_path / "int8.itg").read_bytes()
    assert "16 samples\n" in said.stdout


def test_a_dask_worker_that_is_killed_in_a_round_changes_nothing(command, net, pictures, tmp_path):
    distributed = pytest.importorskip("distributed", reason="python3-distributed is not installed, so Dask is not tried")
    net.save(tmp_path / "net.itg")
    command("calibrate", tmp_path / "net.itg", "--images", pictures, "-o", tmp_path / "int8.itg")
    program = pathlib.Path(__file__).parents[2] / "examples" / "many_workers" / "calibrate_many.py"
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        words = [sys.executable, "-u", str(program), str(tmp_path / "net.itg"), str(pictures), "-o", str(tmp_path / "many.itg"),
                 "--part", "1", "--dask", cluster.scheduler_address]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
            killed = 0
            for line in asking.stdout:  # the next round has begun
                if line.startswith(("16 samples", "round 2")):
                    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
                    killed += 1
            assert asking.wait() == 0, asking.stderr.read()
    assert killed == 2
    assert (tmp_path / "many.itg").read_bytes() == (tmp_path / "int8.itg").read_bytes()


def said(result):
    return json.loads(result.stdout)


def test_plan_and_simulate_are_the_commands(net, int8, samples, command, tmp_path):
    int8.save(tmp_path / "int8.itg")
    net.save(tmp_path / "net.itg")
    np.save(tmp_path / "x.npy", samples)
    report = said(command("plan", tmp_path / "int8.itg", "-o", tmp_path / "least.itg", "--feed-rows", "--ceiling", 10**6, "--json"))
    planned = intaglio.plan(tmp_path / "int8.itg", feed_rows=True, ceiling=10**6)
    assert bytes(planned) == (tmp_path / "least.itg").read_bytes() and dict(planned.report) == report
    assert np.array_equal(planned.run(samples), int8.run(samples))
    command("plan", tmp_path / "int8.itg", "-o", tmp_path / "flat.itg", "--memory", "flat")
    assert bytes(intaglio.plan(planned, memory="flat", ceiling=0)) == (tmp_path / "flat.itg").read_bytes()
    assert "feed_rows= has no effect" in intaglio.plan(net, feed_rows=True).report.notes[0]
    with pytest.raises(intaglio.Error, match=r"ceiling=100: the activations alone take"):
        intaglio.plan(int8, ceiling=100)
    with pytest.raises(intaglio.errors.WrongUse, match=r"feed_rows= with memory=flat would have no effect"):
        intaglio.plan(int8, feed_rows=True, memory="flat")
    with pytest.raises(intaglio.Error, match="activation memory has 1 bytes"):
        intaglio.plan(int8, memory=1)

    words = "simulate", tmp_path / "net.itg", "--images", tmp_path / "x.npy", "--set", "weights:bits=4", "--exact", "--json"
    found = intaglio.simulate(net, samples, set=["weights:bits=4"], exact=True, progress=False)
    assert dict(found) == {**said(command(*words)), "layers": found.layers} and list(found.layers) == said(command(*words))["layers"]
    stages = []
    intaglio.simulate(net, samples, progress=lambda stage, done, total: stages.append(stage))
    assert {"observing", "simulating"} <= set(stages)
    with pytest.raises(intaglio.Error, match="is not FP32 throughout"):
        intaglio.simulate(int8, samples)


def test_exports_are_the_commands(demo, net, int8, command, tmp_path):
    int8.save(tmp_path / "int8.itg")
    small = intaglio.open(tmp_path / "int8.itg")
    words = "export-c", tmp_path / "int8.itg", "--target", "cortex-m4", "--planned", "--prefix", "cnn", "--frame", "320x240:rgb565"
    report = said(command(*words, "-o", tmp_path / "there", "--json"))
    options = {"target": "cortex-m4", "planned": True, "prefix": "cnn", "frame": "320x240:rgb565"}
    assert dict(intaglio.export_c(small, tmp_path / "here", **options)) == report
    for name in report["files"]:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    (tmp_path / "here/main.c").write_text("mine")
    kept = intaglio.export_c(small, tmp_path / "here", **options)
    assert kept["kept"] == ["main.c"] and "was changed, or is not of export-c, and stays" in kept.notes[0]
    (tmp_path / "here/cnn_model.h").write_text("mine")
    with pytest.raises(intaglio.Error, match="or name another folder with folder="):
        intaglio.export_c(small, tmp_path / "here", **options)
    with pytest.raises(intaglio.Error, match="prefix=1x: is no C identifier"):
        intaglio.export_c(small, tmp_path / "here", prefix="1x")
    with pytest.raises(intaglio.Error, match="target"):
        intaglio.export_c(small, tmp_path / "here", target="z80")

    for form in ("qdq", "qoperator"):
        command("export-onnx", tmp_path / "int8.itg", "--from", demo / "meter.onnx", "-o", tmp_path / "there.onnx", "--form", form)
        for source in (demo / "meter.onnx", (demo / "meter.onnx").read_bytes()):
            report = intaglio.export_onnx(small, source, tmp_path / "here.onnx", form=form)
            assert (tmp_path / "here.onnx").read_bytes() == (tmp_path / "there.onnx").read_bytes()
            assert report["form"] == form and report["layers"] > 0
    with pytest.raises(intaglio.Error, match="form=int8: is none of qdq"):
        intaglio.export_onnx(small, demo / "meter.onnx", tmp_path / "here.onnx", form="int8")
    command("export-tflite", tmp_path / "int8.itg", "-o", tmp_path / "there.tflite")
    intaglio.export_tflite(small, tmp_path / "here.tflite")
    assert (tmp_path / "here.tflite").read_bytes() == (tmp_path / "there.tflite").read_bytes()
    for export in (lambda path: intaglio.export_onnx(small, demo / "meter.onnx", path), lambda path: intaglio.export_tflite(small, path)):
        with pytest.raises(intaglio.Error, match="would be lost"):
            export(tmp_path / "int8.itg")
    command("export-onnx", tmp_path / "int8.itg", "-o", tmp_path / "there.onnx")
    intaglio.export_onnx(small, None, tmp_path / "here.onnx")
    assert (tmp_path / "here.onnx").read_bytes() == (tmp_path / "there.onnx").read_bytes()
    with pytest.raises(intaglio.Error, match="is no ONNX file"):
        intaglio.export_onnx(net, b"none", tmp_path / "new.onnx")
    assert not (tmp_path / "new.onnx").exists()
