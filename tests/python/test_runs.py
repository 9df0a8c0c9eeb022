"""Running: values in and out, views, threads."""

import os
import threading
import warnings

import numpy as np
import pytest

import intaglio


def test_outputs_are_the_commands(command, int8, net, samples, tmp_path):
    np.save(tmp_path / "x.npy", samples)
    for model in (net, int8):
        model.save(tmp_path / "m.itg")
        command("run", tmp_path / "m.itg", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
        np.testing.assert_array_equal(model.run(samples), np.load(tmp_path / "y.npy"))


def test_shapes(net, samples):
    all_of_them = net.run(samples)
    assert all_of_them.shape == (12, *net.outputs[0].shape[1:]) and all_of_them.dtype == np.float32
    np.testing.assert_array_equal(net.run(samples[3]), all_of_them[3:4])
    np.testing.assert_array_equal(net(samples[3:4]), all_of_them[3:4])
    np.testing.assert_array_equal(net.run({net.inputs[0].name: samples}), all_of_them)
    np.testing.assert_array_equal(net.run(np.moveaxis(samples, -1, 1)), all_of_them)
    np.testing.assert_array_equal(net.run(samples.astype(np.float64)), all_of_them)


def test_int8_codes(net, pictures, samples):
    int8 = intaglio.calibrate(net, pictures, int8_answers=True)
    output = int8.outputs[0]
    assert output.dtype == "int8"
    codes, reals = int8.run(samples, raw=True), int8.run(samples)
    assert codes.dtype == np.int8
    np.testing.assert_array_equal(reals, (codes.astype(np.int32) - output.zero_point).astype(np.float32) * np.float32(output.scale))
    entry = int8.inputs[0]
    quantized = np.clip(np.rint(samples / np.float32(entry.scale)) + entry.zero_point, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(int8.run(quantized, raw=True), codes)


def test_pictures_go_through_the_recipe(net, samples):
    _, height, width, channels = net.inputs[0].shape
    picture = np.random.default_rng(4).integers(0, 256, (height, width, channels), np.uint8)
    values = (picture.astype(np.float32) - np.float32(127.5)) * np.float32(1 / 127.5)
    np.testing.assert_array_equal(net.run(picture), net.run(values))
    np.testing.assert_array_equal(net.run(picture[np.newaxis]), net.run(values))
    gray = net.run(picture[..., 0])
    np.testing.assert_array_equal(gray, net.run(np.repeat(values[..., :1], channels, -1)))
    assert net.run(np.zeros((7, 2 * height, 3 * width, 3), np.uint8)).shape[0] == 7


def test_frames_become_the_pixels_that_numpy_says():
    height, width = 6, 10
    random = np.random.default_rng(9)
    yuyv = random.integers(0, 256, (height, width // 2, 4), np.uint8)
    y = yuyv[..., ::2].reshape(height, width).astype(np.int32)
    u, v = (np.repeat(yuyv[..., i].astype(np.int32), 2, axis=1) - 128 for i in (1, 3))
    c = 298 * (y - 16) + 128
    rgb = np.clip(np.stack([c + 409 * v, c - 100 * u - 208 * v, c + 516 * u], -1) >> 8, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(intaglio.frame_pixels(yuyv.tobytes(), "10x6:yuyv"), rgb)
    np.testing.assert_array_equal(intaglio.frame_pixels(yuyv, "10x6:yuyv", gray=True), np.clip(c >> 8, 0, 255))
    with_gaps = np.concatenate([yuyv.reshape(height, -1), np.zeros((height, 3), np.uint8)], 1)
    np.testing.assert_array_equal(intaglio.frame_pixels(with_gaps, "10x6:yuyv", row_bytes=23), rgb)
    words = random.integers(0, 65536, (height, width), np.uint16)
    r, g, b = (words >> 11).astype(int), (words >> 5 & 63).astype(int), (words & 31).astype(int)
    expected = np.stack([r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2], -1)
    np.testing.assert_array_equal(intaglio.frame_pixels(words, "10x6:rgb565"), expected)
    np.testing.assert_array_equal(intaglio.frame_pixels(words.byteswap(), "10x6:rgb565-swapped"), expected)
    np.testing.assert_array_equal(intaglio.frame_pixels(words, "10x6:gray12", gray=True), words >> 4 & 255)
    samples = random.integers(0, 256, (height, width), np.uint8).astype(int)
    padded, own = np.pad(samples, 1, mode="reflect"), np.zeros((height, width, 3), int)
    at = lambda dy, dx: padded[1 + dy:1 + dy + height, 1 + dx:1 + dx + width]
    rows, columns = np.indices((height, width))
    red, blue = (rows % 2 == 0) & (columns % 2 == 0), (rows % 2 == 1) & (columns % 2 == 1)
    beside, over = (at(0, -1) + at(0, 1) + 1) >> 1, (at(-1, 0) + at(1, 0) + 1) >> 1
    cross = (at(0, -1) + at(0, 1) + at(-1, 0) + at(1, 0) + 2) >> 2
    corners = (at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1) + 2) >> 2
    own[..., 0] = np.select([red, blue, rows % 2 == 0], [samples, corners, beside], over)
    own[..., 1] = np.where(red | blue, cross, samples)
    own[..., 2] = np.select([blue, red, rows % 2 == 1], [samples, corners, beside], over)
    np.testing.assert_array_equal(intaglio.frame_pixels(samples.astype(np.uint8), "10x6:bayer-rggb"), own)
    with pytest.raises(intaglio.Error, match="a frame is WIDTHxHEIGHT:ORDER"):
        intaglio.frame_pixels(b"", "10x6")
    with pytest.raises(intaglio.Error, match="the picture's memory has 119 bytes, 120 are needed"):
        intaglio.frame_pixels(yuyv.tobytes()[1:], "10x6:yuyv")
    with pytest.raises(ValueError, match="row_bytes: -1"):
        intaglio.frame_pixels(yuyv, "10x6:yuyv", row_bytes=-1)


def test_values_in_another_unit_are_said_once(net, int8, samples):
    for model in (net, int8):
        fresh = intaglio.open(bytes(model))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fresh.run(samples)
        with pytest.warns(UserWarning, match=r"input '.*' was given values that no pixel gives .*its pixels -1 to 1") as said:
            fresh.run(samples * 100)
        assert len(said) == 1 and said[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fresh.run(samples * 100)
        with pytest.warns(UserWarning, match="NaN or infinite"):
            intaglio.open(bytes(model)).run(samples[:1] * np.float32(np.nan))


def test_views_have_no_copies(net, samples):
    entry = net.input_view()
    assert entry.shape == net.inputs[0].shape and entry.flags.writeable
    entry[...] = samples[:1]
    view = net.run(copy=False)
    np.testing.assert_array_equal(view, net.output_view())
    assert not view.flags.writeable and not view.flags.owndata and np.shares_memory(view, net.output_view())
    kept = view.copy()
    entry[...] = samples[1:2]
    net.run(copy=False)
    assert not np.array_equal(view, kept)
    np.testing.assert_array_equal(net.run(samples[:1]), kept)


def test_views_keep_the_memory(demo):
    view = intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1").input_view()
    view[...] = 1
    assert (view == 1).all()


def test_views_outlive_the_session_that_threads_replace(demo, samples):
    net = intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1")
    entry = net.input_view()
    entry[...] = samples[:1]
    shown = net.run(copy=False)
    kept = shown.copy()
    net.threads = 2
    other = net.run(samples[1:2])
    assert not np.shares_memory(shown, net.output_view()) and not np.shares_memory(entry, net.input_view())
    np.testing.assert_array_equal(shown, kept)
    entry[...] = 7
    assert (entry == 7).all() and not (net.input_view() == 7).any()
    assert not np.array_equal(other, kept)
    net.input_view()[...] = samples[:1]
    net.threads = 1
    np.testing.assert_array_equal(net.run(copy=False), kept)  # the inputs went over


def test_a_sequence_is_not_lost_to_other_threads(recurrent):
    x = np.ones(recurrent.inputs[0].shape, np.float32)
    recurrent.threads = 2
    first = recurrent.run(x)
    second = recurrent.run(x)
    recurrent.threads = 2  # nothing new
    with pytest.raises(intaglio.Error, match="states hold a sequence.*reset"):
        recurrent.threads = 1
    assert recurrent.threads == 2 and not np.array_equal(recurrent.run(x), second)
    recurrent.reset()
    recurrent.threads = 1
    np.testing.assert_array_equal(recurrent.run(x), first)


def test_pictures_of_a_batch_are_the_commands(command, demo, tmp_path):
    net4 = intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1", batch=4)
    pictures = np.random.default_rng(6).integers(0, 256, (5, 28, 28), np.uint8)
    np.save(tmp_path / "p.npy", pictures)
    net4.save(tmp_path / "net4.itg")
    command("run", tmp_path / "net4.itg", "--input", tmp_path / "p.npy", "--output", tmp_path / "y.npy")
    wanted = np.load(tmp_path / "y.npy")
    assert wanted.shape == (5, 10)
    np.testing.assert_array_equal(net4.run(pictures), wanted)
    np.testing.assert_array_equal(net4.run(pictures[0]), wanted[:1])
    np.testing.assert_array_equal(net4.run(pictures[0], copy=False), wanted[:1])
    values = np.zeros((2, 4, 28, 28, 3), np.float32)  # each sample fills the places itself
    assert net4.run(values).shape == (2, 4, 10)


def test_what_it_needs_is_of_its_own_threads_and_instruction_set(int8):
    plain, scalar = intaglio.open(bytes(int8)), intaglio.open(bytes(int8), isa="scalar", threads=3)
    assert scalar.measure().threads == 3 and plain.measure().threads == 1
    assert scalar.measure(threads=1).threads == 1 and scalar.measure("cortex-m4").threads == 1
    for name in ("persistent_bytes", "activation_bytes", "scratch_bytes"):
        assert scalar.measure(threads=1)[name] == plain.measure("scalar")[name]
    said = scalar.bench(repeats=1)
    assert said.isa == "scalar" and said.threads == 3


def test_threads_and_instruction_sets_do_not_change_results(int8, samples):
    wanted = int8.run(samples)
    copies = [intaglio.open(bytes(int8), isa="scalar"), intaglio.open(bytes(int8), threads=3)]
    for other in copies:
        np.testing.assert_array_equal(other.run(samples), wanted)
    copies[0].threads = 2
    np.testing.assert_array_equal(copies[0].run(samples), wanted)


def test_several_threads_may_run_one_network(int8, samples):
    wanted = int8.run(samples)
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal(int8.run(samples), wanted):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_the_interpreter_runs_while_a_network_does(net, pictures):
    """A calibration in another thread; this one counts meanwhile."""
    done = []
    worker = threading.Thread(target=lambda: done.append(bytes(intaglio.calibrate(net, pictures))))
    count = 0
    worker.start()
    while worker.is_alive():
        count += 1
    worker.join()
    assert done and count > 1000


def test_what_it_is_shows(net, int8):
    assert net.inputs[0].dtype == "float32" and net.inputs[0].picture and not net.states
    assert net.inspect()["calibration"] is None and int8.inspect()["calibration"]["samples"] == 16
    for text in (repr(net), net._repr_html_()):
        assert "meter.onnx" in text and net.inputs[0].name in text
    assert "<table" in net._repr_html_() and "<" not in net.name
    assert len(net) == len(bytes(net)) and net.node_count > 1


def test_states_go_from_sample_to_sample(recurrent):
    x = np.ones((4, *recurrent.inputs[0].shape[1:]), np.float32)
    at_once = recurrent.run(x)
    recurrent.reset()
    one_by_one = [recurrent.run(x[i]) for i in range(4)]
    np.testing.assert_array_equal(at_once, np.concatenate(one_by_one))
    assert not np.array_equal(at_once[0], at_once[1])
    recurrent.reset()
    np.testing.assert_array_equal(recurrent.run(x[0]), one_by_one[0])


@pytest.mark.skipif("ITG_EMULATED" in os.environ, reason="qemu-user cannot fork a process with threads")
def test_a_child_of_fork_runs_what_its_parent_ran_with_threads(demo, pictures, samples):
    net = intaglio.import_onnx(demo / "meter.onnx", pixels="-1..1")
    net.threads = 4
    wanted = net.run(samples)
    busy = threading.Event()
    going_on = [True]

    def work():
        while going_on[0]:
            net.run(samples)
            busy.set()
            intaglio.calibrate(net, pictures, threads=2, progress=False)

    worker = threading.Thread(target=work, daemon=True)  # where the test fails, it does not keep Python from ending
    worker.start()
    busy.wait()
    for _ in range(8):
        child = os.fork()
        if child == 0:  # no exception leaves it: the tests would go on twice
            code = 1
            try:
                same = np.array_equal(net.run(samples), wanted)
                made = intaglio.calibrate(net, pictures, threads=4, progress=False)
                code = 0 if same and len(made) > 0 else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
    going_on[0] = False
    worker.join()
    assert np.array_equal(net.run(samples), wanted)
