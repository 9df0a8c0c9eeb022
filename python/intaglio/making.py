"""From a network of another format to an int8 model, and how far one model is from another."""

from __future__ import annotations

import io
import os
from typing import Any, Mapping, Optional, Tuple

import numpy as np

from . import _intaglio
from .batches import as_array, label_words, sample_words
from .errors import Error
from .network import Network, open as open_network
from .tables import Report
from .words import Folder, Progress, encoded, existing, is_path, options_of, run, takes_options_of, warn, words_of

_SAMPLES = ("images", "input")  # what batches= becomes
_OF_IMPORT = ("output", "json", "dump_after")
_OF_CALIBRATE = ("output", "json", *_SAMPLES)
_OF_COMPARE = ("json", "labels", *_SAMPLES)


_MODEL, _ONNX = b"ITG1", b"\x08"  # what a model has behind its first four bytes, and what an ONNX file begins with
_NAMES = {"onnx": "an ONNX network", "tflite": "a TFLite network", "openvino": "an OpenVINO IR"}


def _read(path: str) -> bytes:
    with io.open(path, "rb") as file:
        return file.read()


def _content(source: Any) -> bytes:
    if hasattr(source, "SerializeToString"):  # onnx.ModelProto
        return source.SerializeToString()
    if hasattr(source, "read"):
        source = source.read()
    if isinstance(source, str):
        raise TypeError("a network is bytes, and this file was opened as text; open it with 'rb'")
    return bytes(memoryview(source))


def _with_files(options: Mapping[str, Any], folder: Folder) -> Mapping[str, Any]:
    """States may begin with arrays, and inputs may be constants, which the command reads from files."""
    made = dict(options)
    for option in ("initial", "constant"):
        given = options.get(option)
        if not isinstance(given, Mapping):
            continue
        written = {}
        for number, (name, value) in enumerate(given.items()):
            if not np.isscalar(value) and not is_path(value):
                buffer = io.BytesIO()
                np.save(buffer, as_array(value).astype(np.float32))
                value = folder.file(f"{option}{number}.npy", buffer.getvalue(), f"{option}[{name!r}]")
            written[name] = value
        made[option] = written
    return made


def _imported(source: Any, wanted: str, options: Mapping[str, Any], weights: Any = None) -> Network:
    with Folder() as folder:
        if is_path(source):
            path = name = existing(source)
            if os.path.isdir(path):
                raise IsADirectoryError(f"{path}: is a folder; name the network's file")
            with io.open(path, "rb") as file:
                start = file.read(64)
        else:
            content = _content(source)
            start, name = content[:64], "bytes"
            path = folder.file("network.xml" if wanted == "openvino" else "network", content, name)
        if wanted == "openvino" and weights is not None:
            held = existing(weights) if is_path(weights) else None
            inside = _read(held) if held else _content(weights)
            if is_path(source):
                path = folder.file("network.xml", _read(path), name)
            folder.file("network.bin", inside, held or "weights")
        elif wanted == "openvino" and not is_path(source):
            folder.place("network.bin", "weights=")  # what the command looks for, and does not find
        found = _intaglio.format_of(start)
        if found != wanted and not (wanted == "onnx" and len(start) < 8):
            raise Error(f"{name}: is {_NAMES[found]}; use intaglio.import_{found}")
        output = folder.place("imported.itg", "the model")
        words = ["import", path, "-o", output, *words_of("import", _with_files(options, folder), _OF_IMPORT), "--json"]
        answer = run(words, folder)
        network = Network(_read(output), name)
    said = {key: value for key, value in answer.json.items() if key != "notes"}
    network.report = Report({"network": name, **said}, "import", answer.notes)
    return network


@takes_options_of("import", _OF_IMPORT)
def import_onnx(source: Any, **options: Any) -> Network:
    """An ONNX network, float or quantized, as a network of ours.

    source: a path, bytes, a file that was opened with 'rb', or an onnx.ModelProto. Only by its path can a network have
    weights in other files, as PyTorch writes them: they are read from beside it.

        net = intaglio.import_onnx("net.onnx", pixels="imagenet")
        net = intaglio.import_onnx("net.onnx", shape={"image": (1, 3, 224, 224)}, mean=(123.7, 116.3, 103.5), norm=0.017)

    Sequences stand for lists with commas, dicts for NAME=VALUE. `report` is what `intaglio import --json` prints; what the
    import had to say is in `report.notes`.
    """
    return _imported(source, "onnx", options)


@takes_options_of("import", _OF_IMPORT)
def import_tflite(source: Any, **options: Any) -> Network:
    """A TFLite network, float or quantized, as a network of ours. The same as `import_onnx` otherwise."""
    return _imported(source, "tflite", options)


@takes_options_of("import", _OF_IMPORT)
def import_openvino(source: Any, weights: Any = None, **options: Any) -> Network:
    """An OpenVINO IR as a network of ours. The same as `import_onnx` otherwise.

    source: the .xml. weights: the .bin, as a path or bytes; without it, the .bin beside the .xml.
    """
    return _imported(source, "openvino", options, weights)


def _float_model(given: Any, options: Mapping[str, Any]) -> Tuple[Network, Mapping[str, Any]]:
    """The network that is calibrated, and the options without those of its import. A path may be that of a network which is
    imported first."""
    of_import = {name: value for name, value in options.items()
                 if name in options_of("import") and name not in _OF_CALIBRATE + ("state",) and value not in (None, False)}
    rest = {name: value for name, value in options.items() if name not in of_import}
    if is_path(given) and not os.path.isdir(existing(given)):
        with io.open(existing(given), "rb") as file:
            start = file.read(64)
        format = _intaglio.format_of(start)
        if start[4:8] != _MODEL and (format != "onnx" or start[:1] == _ONNX or os.fsdecode(given).endswith(".onnx")):
            return _imported(given, format, of_import), rest
    model = _model(given, "network")
    if of_import:
        raise TypeError(f"{next(iter(of_import))}: {model.name} is a model, which holds what its import was told; give the file "
                        "that it was imported from")
    return model, rest


def _model(given: Any, what: str) -> Network:
    if isinstance(given, Network):
        return given
    if is_path(given) or isinstance(given, (bytes, bytearray, memoryview)):
        return open_network(given)
    raise TypeError(f"{what}: is no network and no path of one, but {type(given).__name__}")


@takes_options_of("calibrate", _OF_CALIBRATE)
def calibrate(network: Any, batches: Any = None, *, progress: Progress = None, **options: Any) -> Network:
    """An int8 network from one in FP32 and a few samples. Its bytes are those that `intaglio calibrate` writes.

    network: a Network, or the path of one. The path of an ONNX or TFLite network or of an OpenVINO IR will do as well: it is
        imported first, with the options of `import_onnx` (pixels=, shape= and so on; state= is the calibration's).
    batches: a folder of pictures, one picture or an .npy file, by path; a list of pictures' paths; an array; or any iterable
        of arrays, whose first dimension counts samples: a list, a generator, a data loader of torch's. Of (x, y) pairs
        only x is read. Of a network with several inputs each item is a dict by their names or a tuple in their order; a
        dict of paths or arrays will do as well. An iterable is read once, into a temporary file (tempfile.tempdir says
        where).
    progress: called with a stage's name, how much of it is done and how much there is to do. Without it a line on stderr shows how
        far the work is, on a terminal and in a notebook; False: nothing does.

        int8 = intaglio.calibrate(net, loader, report="page.html", method="mse")
        int8 = intaglio.calibrate("net.onnx", "pictures/", pixels="imagenet")

    `report` of the result says how near the int8 network is. Ctrl-C ends the work. It runs as the network that it was made
    from: with its threads and instruction sets.
    """
    fp32, options = _float_model(network, options)
    imported = fp32.report.notes if fp32 is not network and fp32.report is not None else []
    with Folder() as folder:
        words = ["calibrate", fp32._file(folder)]
        if batches is not None:
            words += sample_words(batches, fp32._wanted(), folder).words
        elif not options.get("params"):
            raise TypeError("calibrate: give batches, or params= for scales that another tool found")
        output = folder.place("calibrated.itg", "the int8 model")
        page = options.get("report")
        if page is not None:
            page = encoded(page)
            _intaglio.check_report(page)
            options = {**options, "report": folder.place("page.html", "report=")}
        words += [*words_of("calibrate", options, _OF_CALIBRATE), "-o", output, "--json"]
        answer = run(words, folder, progress)
        int8 = Network(_read(output), f"{fp32.name} (int8)", fp32.threads, fp32.isa)
        int8.report = Report(answer.json, "calibration", [*imported, *answer.notes])
        if page is not None:
            try:
                _intaglio.write_file(page, _read(options["report"]))
            except Error as error:  # after minutes of work: what it made is not thrown away
                warn(f"report=: {error}; the int8 network is complete")
    return int8


@takes_options_of("compare", _OF_COMPARE)
def compare(reference: Any, test: Any, batches: Any, *, labels: Any = None, progress: Progress = None,
            **options: Any) -> Report:
    """How far a network is from the one that it was made from, on the same samples.

    reference: the one in FP32. test: the one that was made from it. batches: as in `calibrate`. labels: a file, or a
    class number for each sample.

    The result has sqnr_db, cosine, agreement and a table `layers`, of which `layers.sorted_by('sqnr_db')` begins with
    the worst.
    """
    first, second = _model(reference, "reference"), _model(test, "test")
    with Folder() as folder:
        samples = sample_words(batches, first._wanted(), folder)
        words = ["compare", first._file(folder, "reference.itg"), second._file(folder, "test.itg"), *samples.words,
                 *words_of("compare", options, _OF_COMPARE)]
        if labels is not None:
            words += label_words(labels, folder, samples)
        answer = run([*words, "--json"], folder, progress)
    return Report(answer.json, f"{second.name} against {first.name}", answer.notes)


@takes_options_of("eval", _OF_COMPARE)
def evaluate(network: Any, batches: Any, labels: Any, *, progress: Progress = None, **options: Any) -> Report:
    """How often the network's best class is the right one: count, top1 and top5 in percent.

    batches: as in `calibrate`. labels: a file, or a class number for each sample.
    """
    model = _model(network, "network")
    with Folder() as folder:
        samples = sample_words(batches, model._wanted(), folder)
        words = ["eval", model._file(folder), *samples.words, *label_words(labels, folder, samples),
                 *words_of("eval", options, _OF_COMPARE), "--json"]
        answer = run(words, folder, progress)
    return Report(answer.json, f"eval {model.name}", answer.notes)


def command(*words: Any, progress: Progress = None) -> str:
    """What `intaglio WORDS...` prints, for all that has no function here: command("verify", "net.itg").

    Runs in this process. A failure is an exception, as elsewhere.
    """
    return run([os.fspath(word) if is_path(word) else str(word) for word in words], None, progress).text
