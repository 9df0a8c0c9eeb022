"""What a new user does wrong: each is an exception that says what, where, and what to do."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import intaglio


def test_wrong_paths(net, tmp_path):
    for call in (lambda: intaglio.open(tmp_path / "no.itg"), lambda: intaglio.import_onnx(tmp_path / "no.onnx"),
                 lambda: intaglio.calibrate(net, tmp_path / "no"), lambda: intaglio.calibrate(tmp_path / "no.itg", tmp_path)):
        with pytest.raises(FileNotFoundError, match="no"):
            call()
    with pytest.raises(IsADirectoryError, match="folder"):
        intaglio.open(tmp_path)
    with pytest.raises(intaglio.Error, match="there is no folder .*none; make it first"):
        net.save(tmp_path / "none" / "net.itg")


def test_null_bytes(net, int8, samples, tmp_path):
    """C ends a text there: another file would be read or written."""
    path = f"{tmp_path}/victim.itg\0.itg"
    for call in (lambda: net.save(path), lambda: intaglio.open(path), lambda: intaglio.import_onnx(path),
                 lambda: intaglio.calibrate(net, samples, report=path), lambda: intaglio.calibrate(net, samples, observed=path),
                 lambda: intaglio.calibrate(net, path), lambda: intaglio.command("plan", "net.itg", "-o", path)):
        with pytest.raises(ValueError, match="null byte"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_masked_arrays_and_other_byte_orders(net, samples):
    masked = np.ma.MaskedArray(samples, mask=samples > 0.9)
    with pytest.raises(ValueError, match="masked: [0-9]+ of its values .*filled"):
        net.run(masked)
    swapped = samples.astype(samples.dtype.newbyteorder("S"))
    for same in (np.ma.MaskedArray(samples), swapped):
        np.testing.assert_array_equal(net.run(same[:1]), net.run(samples[:1]))
    assert bytes(intaglio.calibrate(net, swapped)) == bytes(intaglio.calibrate(net, samples))


def test_threads_that_are_no_number_of_threads(net):
    for threads, error, words in (("2", TypeError, "no whole number"), (2.5, TypeError, "no whole number"),
                                  (2**40, ValueError, "is not in 1 to"), (0, ValueError, "is not in 1 to"), (-2**70, ValueError, "is not in 1 to")):
        with pytest.raises(error, match=f"threads: .*{words}"):
            net.threads = threads
        with pytest.raises(error, match=f"threads: .*{words}"):
            intaglio.open(bytes(net), threads=threads)


def test_files_of_others_stay(net, samples, tmp_path):
    mine = tmp_path / "mine.npy"
    np.save(mine, samples[:1])
    before = mine.read_bytes()
    with pytest.raises(intaglio.Error, match="mine.npy: is there already, is no model"):
        net.save(mine)
    with pytest.raises(intaglio.Error, match="mine.npy: is there already, is no report"):
        intaglio.calibrate(net, samples, report=mine)
    assert mine.read_bytes() == before
    for _ in range(2):
        net.save(tmp_path / "net.itg")


def test_not_a_model(demo, tmp_path, net):
    with pytest.raises(intaglio.Error, match="intaglio import") as raised:
        intaglio.open(demo / "meter.onnx")
    assert raised.value.status == "kNotAModel"
    broken = bytearray(bytes(net))
    broken[len(broken) // 2] ^= 1
    with pytest.raises(intaglio.Error) as raised:
        intaglio.open(bytes(broken))
    assert raised.value.status == "kBadChecksum" and raised.value.value != raised.value.limit
    with pytest.raises(intaglio.Error, match="no bytes"):
        intaglio.open(b"")
    with pytest.raises(intaglio.Error, match="bytes"):
        intaglio.import_onnx(b"not a network at all")
    with pytest.raises(intaglio.Error, match="import_onnx"):
        intaglio.import_tflite(demo / "meter.onnx")


def test_wrong_shapes(net, samples):
    with pytest.raises(ValueError, match=r"shape \(5, 3\).*takes float32 arrays \(N, 28, 28, 3\)"):
        net.run(np.zeros((5, 3), np.float32))
    with pytest.raises(ValueError, match=r"batches\[1\]: has the shape \(2, 7\)"):
        intaglio.calibrate(net, [samples, np.zeros((2, 7), np.float32)])
    with pytest.raises(ValueError, match="holds no samples"):
        net.run(samples[:0])
    with pytest.raises(ValueError, match="1 inputs"):
        net.run(samples, samples)
    with pytest.raises(ValueError, match="'other' is no input"):
        net.run({"other": samples})
    with pytest.raises(ValueError, match="copy=False"):
        net.run(samples, copy=False)


def test_wrong_arrays_for_int8_inputs_name_scale_and_types(int8, samples):
    tensor = int8.inputs[0]
    assert tensor.dtype == "int8"
    text = f"by its scale {tensor.scale:.6g} and zero point {tensor.zero_point}, or int8 arrays of codes"
    with pytest.raises(ValueError) as raised:
        int8.run(np.zeros((5, 3), np.float32))
    assert f"takes float32 arrays (N, 28, 28, 3), of which it makes codes {text}" in str(raised.value)
    with pytest.raises(TypeError) as raised:
        int8.run(samples.astype(np.complex64))
    assert text in str(raised.value)


def test_wrong_types(net, samples, demo):
    for wrong in (samples.astype(np.complex64), samples.astype(str), samples.astype(object)):
        with pytest.raises(TypeError, match="takes float32"):
            net.run(wrong)
    with pytest.raises(TypeError, match="int8 is for codes.*astype"):
        net.run(samples.astype(np.int8))
    with pytest.raises(ValueError, match="within 2.24 of 0"):
        net.run(np.full(samples.shape, 2**24 + 1))
    with pytest.raises(ValueError, match="beyond float32"):
        net.run(np.full(samples.shape, 1e300))
    values_alone = intaglio.import_onnx(demo / "meter.onnx")
    with pytest.raises(TypeError, match="pixels="):
        values_alone.run(np.zeros((1, 28, 28), np.uint8))
    with pytest.raises(TypeError, match="those before it float32; give one type"):
        intaglio.calibrate(net, [samples, np.zeros((2, 28, 28), np.uint8)])
    for wrong in (17, None.__class__):
        with pytest.raises(TypeError):
            intaglio.calibrate(net, wrong)
    with pytest.raises(TypeError, match="give batches"):
        intaglio.calibrate(net)


def test_samples_that_may_mean_two_things(net, samples):
    batches = [list(samples[:8]), list(samples[8:])]  # of which only the first of each would be read
    for given in (batches, [tuple(batch) for batch in batches], [[samples[:6], samples[6:]]]):
        with pytest.raises(ValueError, match=r"batches\[0\]: is a .* arrays that fit the input .*numpy.stack"):
            intaglio.calibrate(net, given)
    grays = np.random.default_rng(8).integers(0, 256, (3, 28, 28), np.uint8)
    with pytest.raises(ValueError, match=r"3 gray ones; give the shape \(1, 3, 28, 28\) or \(3, 28, 28, 1\)"):
        net.run(grays)
    assert len(net.run(grays[..., np.newaxis])) == 3 and len(net.run(grays[np.newaxis])) == 1


def test_labels_that_are_no_class_numbers(int8, samples):
    right = int8.run(samples).reshape(12, -1).argmax(1)
    assert intaglio.evaluate(int8, samples, right[:, np.newaxis]).top1 == 100
    with pytest.raises(ValueError, match=r"labels: has the shape \(12, 10\).*argmax"):
        intaglio.evaluate(int8, samples, np.eye(10, dtype=np.int64)[right])
    for wrong in (np.append(right, 1), right[:11]):
        with pytest.raises(ValueError, match=f"labels: has {len(wrong)} class numbers for 12 samples"):
            intaglio.evaluate(int8, samples, wrong)


def test_a_list_of_paths(net, pictures, tmp_path):
    with pytest.raises(FileNotFoundError, match="none.png"):
        intaglio.calibrate(net, [tmp_path / "none.png"])
    np.save(tmp_path / "x.npy", np.zeros((2, 28, 28), np.uint8))
    with pytest.raises(ValueError, match=r"batches\[1\]: .*x.npy is no picture"):
        intaglio.calibrate(net, [next(pictures.iterdir()), tmp_path / "x.npy"])
    with pytest.raises(TypeError, match=r"batches\[1\]: is no path"):
        intaglio.calibrate(net, [next(pictures.iterdir()), np.zeros((28, 28), np.uint8)])


def test_a_page_that_cannot_be_written_is_refused_first(net, pictures, tmp_path):
    stages = []
    with pytest.raises(intaglio.Error, match="there is no folder .*nodir"):
        intaglio.calibrate(net, pictures, report=tmp_path / "nodir" / "p.html", progress=lambda *stage: stages.append(stage))
    assert not stages


def test_a_page_that_fails_at_the_end_leaves_the_network(net, pictures, tmp_path):
    def vanish(stage, done, total):  # the folder goes while the work is done
        if (tmp_path / "pages").is_dir():
            (tmp_path / "pages").rmdir()

    (tmp_path / "pages").mkdir()
    with pytest.warns(UserWarning, match="report=.*pages.*the int8 network is complete") as warned:
        int8 = intaglio.calibrate(net, pictures, report=tmp_path / "pages" / "p.html", progress=vanish)
    assert warned[0].filename == __file__
    assert bytes(int8) == bytes(intaglio.calibrate(net, pictures))


def test_messages_name_what_was_given(tmp_path):
    ir = b'<?xml version="1.0"?><net name="n" version="11"><layers/><edges/></net>'
    with pytest.raises(intaglio.Error, match="weights=") as raised:
        intaglio.import_openvino(b"\xef\xbb\xbf" + ir)  # with a byte order mark, as the command takes it
    assert tempfile.gettempdir() not in str(raised.value)
    latin = os.path.join(os.fsencode(tmp_path), b"caf\xe9.itg")
    with open(latin, "wb") as file:
        file.write(b"no model")
    with pytest.raises(intaglio.Error, match=r"caf\\xe9.itg"):
        intaglio.open(os.fsdecode(latin))


def test_values_that_are_no_numbers(net, samples):
    spoilt = samples.copy()
    spoilt[3, 5, 5, 0] = np.nan
    with pytest.raises(intaglio.Error, match="3"):
        intaglio.calibrate(net, spoilt)


def test_an_empty_generator(net, samples):
    used = (batch for batch in [samples])
    list(used)
    for empty in (used, [], iter(())):
        with pytest.raises(ValueError, match="gave no samples; a generator gives what it has once"):
            intaglio.calibrate(net, empty)


def test_a_generator_that_fails(net, samples):
    def batches():
        yield samples
        raise KeyError("what the user's own code raises")

    with pytest.raises(KeyError, match="own code"):
        intaglio.calibrate(net, batches())


def test_a_folder_with_a_broken_picture(net, pictures, tmp_path):
    for path in pictures.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    broken = sorted(tmp_path.iterdir())[3]
    broken.write_bytes(broken.read_bytes()[:100])
    with pytest.raises(intaglio.Error, match=broken.name):
        intaglio.calibrate(net, tmp_path)
    left_out = intaglio.calibrate(net, tmp_path, skip_bad=True)
    assert left_out.report.images == 15 and any(broken.name in note for note in left_out.report.notes)
    (tmp_path / "empty").mkdir()
    with pytest.raises(intaglio.Error, match="holds no pictures"):
        intaglio.calibrate(net, tmp_path / "empty")


def test_wrong_options(net, pictures, demo):
    with pytest.raises(TypeError, match="metod"):
        intaglio.calibrate(net, pictures, metod="mse")
    with pytest.raises(TypeError, match="output"):
        intaglio.calibrate(net, pictures, output="x.itg")  # that is save()
    with pytest.raises(intaglio.Error, match="method"):
        intaglio.calibrate(net, pictures, method="best")
    with pytest.raises(intaglio.Error, match="^percentile= has no effect without method=percentile"):
        intaglio.calibrate(net, pictures, percentile=0.999)
    with pytest.raises(intaglio.Error, match="^keep_float=: .* has no node nope; Network.inspect\(ops=True\)"):
        intaglio.calibrate(net, pictures, keep_float=["nope"])
    with pytest.raises(intaglio.Error, match="^report= has no effect without batches="):
        intaglio.calibrate(net, params=demo / "none.json", report="page.html")
    with pytest.raises(intaglio.Error, match="labels=: class 99 of sample 0 is not in 0 to 9"):
        intaglio.evaluate(net, np.zeros((2, 28, 28, 3), np.float32), [99, 0])
    with pytest.raises(TypeError, match="True or False"):
        intaglio.calibrate(net, pictures, int8_answers=1)
    with pytest.raises(intaglio.Error, match="pixels"):
        intaglio.import_onnx(demo / "meter.onnx", pixels="0..2")
    with pytest.raises(TypeError, match="json"):  # report always is what --json says
        intaglio.import_onnx(demo / "meter.onnx", json=True)
    with pytest.raises(intaglio.Error, match="intaglio: .*subcommand"):
        intaglio.command()
    with pytest.raises(ValueError, match="1 to"):
        net.threads = 0
    with pytest.raises(intaglio.Error, match="^target=cortex-m5: is not known"):
        net.measure("cortex-m5")
    with pytest.raises(ValueError, match="clock= .*target="):
        net.inspect(clock=120)
    with pytest.raises(ValueError, match="chip= .*clock="):
        net.inspect("cortex-m4", chip="stm32l4r5")
    with pytest.raises(intaglio.Error, match="clock=-1: megahertz are above 0"):
        net.inspect("cortex-m4", clock=-1)
    for wrong in (lambda: net.bench(threads=0), lambda: net.inspect(threads=65), lambda: net.bench(repeats=0)):
        with pytest.raises(ValueError, match="threads: .*1 to 64|repeats: 0 is below 1"):
            wrong()
    with pytest.raises(intaglio.Error, match="sse9"):
        net.bench(isa="sse9")
    with pytest.raises(TypeError, match="repeats"):
        net.bench(repeats="many")


def test_errors_carry_what_the_library_says(net, int8, samples):
    with pytest.raises(intaglio.Error, match="20 bits") as raised:
        intaglio.calibrate(net, samples, set=["expand.relu/out:bits=20"])
    said = raised.value
    assert (said.status, said.node, said.tensor) == ("kBitsNotDeployable", "expand.conv", "expand.relu")
    assert (said.value, said.limit) == (20, 16) and said.node_index >= 0 and said.tensor_index >= 0
    with pytest.raises(intaglio.Error, match="FP32") as raised:
        intaglio.calibrate(int8, samples)
    assert raised.value.status is None and raised.value.node is None


def test_messages_name_no_temporary_file(net, int8, samples):
    spoilt = samples.copy()
    spoilt[0] = np.inf
    for call in (lambda: intaglio.calibrate(net, spoilt), lambda: intaglio.calibrate(int8, samples),
                 lambda: intaglio.compare(int8, net, samples), lambda: intaglio.import_onnx(b"x" * 100)):
        with pytest.raises(intaglio.Error) as raised:
            call()
        message = str(raised.value).replace(os.environ["ITG_DEMO"], "")  # the tree may stand in such a folder itself
        assert "intaglio-" not in message and "/tmp" not in message


def test_ctrl_c_ends_a_calibration(net, pictures):
    """It takes seconds to its end; the signal comes before, and the main thread is within the library then."""
    before = bytes(intaglio.calibrate(net, pictures))
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            intaglio.calibrate(net, pictures, recover="default,adaround")
    assert bytes(intaglio.calibrate(net, pictures)) == before


def test_what_is_to_be_known_of_options_is_in_the_documentation():
    import inspect

    signature = inspect.signature(intaglio.calibrate)
    assert {"network", "batches", "progress", "method", "report", "int8_answers"} <= set(signature.parameters)
    assert not {"output", "json", "images"} & set(signature.parameters)
    for function in (intaglio.calibrate, intaglio.import_onnx, intaglio.compare, intaglio.evaluate, intaglio.plan, intaglio.export_onnx):
        for name in inspect.signature(function).parameters:
            assert f" {name}: " in function.__doc__, (function, name)


def test_keywords_are_the_options_of_the_command():
    import inspect

    def keywords(subcommand, *own):
        options = re.findall(r"^  (?:-\w,\s*)?--([a-z0-9-]+)", intaglio.command(subcommand, "--help"), re.M)
        return {option.replace("-", "_") for option in options} - {"help", "json", "output", "images", "input", *own}

    of_import = keywords("import", "dump_after")
    assert set(inspect.signature(intaglio.import_onnx).parameters) == {"source", *of_import}
    own = {"network", "batches", "progress"}
    assert set(inspect.signature(intaglio.calibrate).parameters) == own | {"observed"} | keywords("calibrate", "from")
    assert set(inspect.signature(intaglio.observe).parameters) == own | keywords("observe", *of_import)
    assert set(inspect.signature(intaglio.Network.bench).parameters) == {"self", *keywords("bench", "per_layer", "compact", "streamed")}
    assert set(inspect.signature(intaglio.Network.inspect).parameters) == {"self", *keywords("inspect", "dot", "compact", "isa")}
    assert set(inspect.signature(intaglio.simulate).parameters) == own | keywords("simulate")
    assert set(inspect.signature(intaglio.plan).parameters) == {"network", *keywords("plan")}
    assert set(inspect.signature(intaglio.export_c).parameters) == {"network", "folder", *keywords("export-c")}
    assert set(inspect.signature(intaglio.export_onnx).parameters) == {"network", "source", "path", *keywords("export-onnx", "from")}
    assert set(inspect.signature(intaglio.export_tflite).parameters) == {"network", "path", *keywords("export-tflite")}
    assert set(inspect.signature(intaglio.compare).parameters) == {"reference", "test", "batches", "progress", *keywords("compare")}


def test_the_command_comes_along(tmp_path, demo, command):
    words = ["import", str(demo / "meter.onnx"), "-o", str(tmp_path / "net.itg"), "--pixels", "-1..1"]
    program = [sys.executable, "-m", "intaglio"]
    run = subprocess.run([*program, *words], capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ)
    made = (tmp_path / "net.itg").read_bytes()
    assert run.stdout == command(*words).stdout and made == (tmp_path / "net.itg").read_bytes()
    wrong = subprocess.run([*program, "imprt"], capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 2 and "no subcommand" in wrong.stderr
    threads = subprocess.run([*program, "bench", str(tmp_path / "net.itg"), "--threads", "2", "--json"], capture_output=True,
                             text=True, cwd=tmp_path)
    assert threads.returncode == 0, threads.stderr
