"""From a network of another format to an int8 model, and how far one model is from another."""

from __future__ import annotations

import io
import os
from typing import Any, Callable, Dict, Literal, Mapping, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

from . import _intaglio
from .batches import as_array, labels_of, samples_of
from .errors import Error
from .network import Network, open as open_network
from .observed import Observed, Question
from .tables import Report
from .words import Progress, encoded, existing, is_path, line_of, run, warn

Path = Union[str, "os.PathLike[str]"]
Pixels = Literal["0..255", "0..1", "-1..1", "imagenet", "caffe"]
Method = Literal["auto", "minmax", "percentile", "mse", "kl", "aciq"]
Answer = Literal["classes", "values", "boxes", "map", "embedding"]
Answers = Union[Answer, Sequence[Answer]]
Numbers = Union[float, Sequence[float]]
Texts = Union[str, Sequence[str]]
Nodes = Union[str, Sequence[Union[int, str]]]
Value = Union[float, Sequence[float], np.ndarray, str, "os.PathLike[str]"]

_MODEL, _ONNX = b"ITG1", b"\x08"  # what a model has behind its first four bytes, and what an ONNX file begins with
_NAMES = {"onnx": "an ONNX network", "tflite": "a TFLite network", "openvino": "an OpenVINO IR"}
_OF_IMPORT = ("pixels", "shape", "batch", "mean", "norm", "color", "resize", "border", "focus", "outputs", "answers", "constant",
              "external_data", "keep_dead", "state", "initial", "stream", "max_work", "max_memory")


def _read(path: str) -> bytes:
    with io.open(path, "rb") as file:
        return file.read()


def content_of(source: Any) -> bytes:
    if hasattr(source, "SerializeToString"):  # onnx.ModelProto
        return bytes(source.SerializeToString())
    if hasattr(source, "read"):
        source = source.read()
    if isinstance(source, str):
        raise TypeError("a network is bytes, and this file was opened as text; open it with 'rb'")
    return bytes(memoryview(source))


def _with_arrays(options: Dict[str, Any]) -> Dict[str, Any]:
    """States may begin with arrays, and inputs may be constants: of files, too."""
    for option in ("initial", "constant"):
        if isinstance(options.get(option), Mapping):
            options[option] = {name: np.load(existing(value)) if is_path(value) else value if np.isscalar(value) else as_array(value)
                               for name, value in options[option].items()}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in options.items()}


def _imported(source: Any, wanted: str, options: Dict[str, Any], weights: Any = None) -> Network:
    content: Optional[bytes] = None
    name: Any = "bytes"
    if is_path(source):
        name = path = existing(source)
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path}: is a folder; name the network's file")
        with io.open(path, "rb") as file:
            start = file.read(64)
        if weights is not None:
            content = _read(path)
    else:
        content = content_of(source)
        start = content[:64]
    found = _intaglio.format_of(start)
    if found != wanted and not (wanted == "onnx" and len(start) < 8):
        raise Error(f"{name}: is {_NAMES[found]}; use intaglio.import_{found}")
    beside = None if weights is None else _read(existing(weights)) if is_path(weights) else content_of(weights)
    made, report, notes, warned = _intaglio.import_network(encoded(name), content, beside, _with_arrays(options))
    for warning in warned:
        warn(warning)
    network = Network(made, name)
    network.report = Report({"network": name, **report}, "import", notes)
    return network


def _given(options: Mapping[str, Any], *own: str) -> Dict[str, Any]:
    return {name: value for name, value in options.items() if name not in own}


_IMPORT_KEYWORDS = """
    Keywords of the import:

    pixels: how the pixels of a picture become the network's input.
    shape: the dimensions of inputs, in the network's own layout: {name: (1, 3, 224, 224)}.
    batch: how many samples a run takes; 1 unless given.
    mean: subtract this from each pixel, which is 0 to 255; a number, or one for each channel.
    norm: multiply the difference by this.
    color: order of the model's channels.
    resize: how a picture of another size is made to fit: stretch unless given; crop takes the central 87.5 %, letterbox all
        of it with borders.
    border: the pixel of a letterbox's borders; 128 unless given.
    focus: the network begins behind YOLOv5's focus: the model takes the picture before it.
    outputs: end the network at these tensors, by their names in the file: they become the outputs, in this order.
    answers: what the numbers of the outputs are: one kind for all of them, or one for each.
    constant: inputs of an ONNX network that are the same in each run: {name: number, array or .npy path}.
    external_data: read weights also from folders within an ONNX network's own.
    keep_dead: keep channels of a quantized network that hold one code whatever the input is.
    state: {input: output}: the input takes what the output gave in the run before; both leave the model's inputs and outputs.
    initial: what states begin with, where that is not zero: {input: number, array or .npy path}.
    stream: the axis of time of the first input: the model takes one row of it a run.
    max_work: the operations that the import may take.
    max_memory: the bytes of memory that the import may take.
    """

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _with_import_keywords(function: _Function) -> _Function:
    function.__doc__ = (function.__doc__ or "").rstrip() + "\n" + _IMPORT_KEYWORDS
    return function


@_with_import_keywords
def import_onnx(
    source: Any, *,
    pixels: Optional[Pixels] = None, shape: Optional[Mapping[str, Sequence[int]]] = None, batch: Optional[int] = None,
    mean: Optional[Numbers] = None, norm: Optional[Numbers] = None, color: Optional[Literal['rgb', 'bgr', 'gray']] = None,
    resize: Optional[Literal['stretch', 'crop', 'letterbox']] = None, border: Optional[int] = None, focus: bool = False,
    outputs: Optional[Texts] = None, answers: Optional[Answers] = None, constant: Optional[Mapping[str, Value]] = None,
    external_data: bool = False, keep_dead: bool = False, state: Optional[Mapping[str, str]] = None,
    initial: Optional[Mapping[str, Value]] = None, stream: Optional[int] = None, max_work: Optional[int] = None,
    max_memory: Optional[int] = None,
) -> Network:
    """An ONNX network, float or quantized, as a network of ours.

    source: a path, bytes, a file that was opened with 'rb', or an onnx.ModelProto. Only by its path can a network have
    weights in other files, as PyTorch writes them: they are read from beside it.

        net = intaglio.import_onnx("net.onnx", pixels="imagenet")
        net = intaglio.import_onnx("net.onnx", shape={"image": (1, 3, 224, 224)}, mean=(123.7, 116.3, 103.5), norm=0.017)

    `report` is what `intaglio import --json` prints; what the import had to say is in `report.notes`.
    """
    return _imported(source, "onnx", _given(locals(), "source"))


@_with_import_keywords
def import_tflite(
    source: Any, *,
    pixels: Optional[Pixels] = None, shape: Optional[Mapping[str, Sequence[int]]] = None, batch: Optional[int] = None,
    mean: Optional[Numbers] = None, norm: Optional[Numbers] = None, color: Optional[Literal['rgb', 'bgr', 'gray']] = None,
    resize: Optional[Literal['stretch', 'crop', 'letterbox']] = None, border: Optional[int] = None, focus: bool = False,
    outputs: Optional[Texts] = None, answers: Optional[Answers] = None, constant: Optional[Mapping[str, Value]] = None,
    external_data: bool = False, keep_dead: bool = False, state: Optional[Mapping[str, str]] = None,
    initial: Optional[Mapping[str, Value]] = None, stream: Optional[int] = None, max_work: Optional[int] = None,
    max_memory: Optional[int] = None,
) -> Network:
    """A TFLite network, float or quantized, as a network of ours. The same as `import_onnx` otherwise."""
    return _imported(source, "tflite", _given(locals(), "source"))


@_with_import_keywords
def import_openvino(
    source: Any, weights: Any = None, *,
    pixels: Optional[Pixels] = None, shape: Optional[Mapping[str, Sequence[int]]] = None, batch: Optional[int] = None,
    mean: Optional[Numbers] = None, norm: Optional[Numbers] = None, color: Optional[Literal['rgb', 'bgr', 'gray']] = None,
    resize: Optional[Literal['stretch', 'crop', 'letterbox']] = None, border: Optional[int] = None, focus: bool = False,
    outputs: Optional[Texts] = None, answers: Optional[Answers] = None, constant: Optional[Mapping[str, Value]] = None,
    external_data: bool = False, keep_dead: bool = False, state: Optional[Mapping[str, str]] = None,
    initial: Optional[Mapping[str, Value]] = None, stream: Optional[int] = None, max_work: Optional[int] = None,
    max_memory: Optional[int] = None,
) -> Network:
    """An OpenVINO IR as a network of ours. The same as `import_onnx` otherwise.

    source: the .xml. weights: the .bin, as a path or bytes; without it, the .bin beside the .xml.
    """
    return _imported(source, "openvino", _given(locals(), "source", "weights"), weights)


def _float_model(given: Any, options: Dict[str, Any]) -> Tuple[Network, Dict[str, Any]]:
    """The network that is calibrated, and the options without those of its import. A path may be that of a network which is
    imported first."""
    of_import = {name: value for name, value in options.items() if name in _OF_IMPORT and value is not None and value is not False}
    rest = {name: value for name, value in options.items() if name not in _OF_IMPORT}
    if is_path(given) and not os.path.isdir(existing(given)):
        with io.open(existing(given), "rb") as file:
            start = file.read(64)
        format = _intaglio.format_of(start)
        if start[4:8] != _MODEL and (format != "onnx" or start[:1] == _ONNX or os.fsdecode(given).endswith(".onnx")):
            return _imported(given, format, of_import), rest
    model = model_of(given, "network")
    if of_import:
        raise TypeError(f"{next(iter(of_import))}: {model.name} is a model, which holds what its import was told; give the file "
                        "that it was imported from")
    return model, rest


def model_of(given: Any, what: str) -> Network:
    if isinstance(given, Network):
        return given
    if is_path(given) or isinstance(given, (bytes, bytearray, memoryview)):
        return open_network(given)
    raise TypeError(f"{what}: is no network and no path of one, but {type(given).__name__}")


@_with_import_keywords
def calibrate(
    network: Any, batches: Any = None, *, progress: Progress = None,
    method: Optional[Method] = None, percentile: Optional[float] = None, symmetric: bool = False, power_of_two: bool = False,
    weight_bits: Optional[int] = None, safe_pairs: bool = False, int8_answers: bool = False,
    compat: Optional[Literal['none', 'tengine', 'ppq']] = None, set: Optional[Texts] = None,
    keep_float: Optional[Nodes] = None, recover: Optional[Texts] = None,
    profile: Optional[Literal['host', 'device']] = None, int8_states: bool = False,
    min_sqnr: Optional[float] = None, max_drop: Optional[float] = None, labels: Optional[Path] = None,
    names: Optional[Path] = None, no_fpu: bool = False, params: Optional[Path] = None, params_format: Optional[str] = None,
    map: Optional[Path] = None, observed: Union[Observed, Sequence[Union[Observed, Question]], None] = None,
    question: bool = False, report: Optional[Path] = None,
    memory: Union[str, int, None] = None, ceiling: Optional[int] = None, only: Optional[Path] = None,
    limit: Optional[int] = None, skip_bad: bool = False, frame: Optional[str] = None,
    row_bytes: Optional[int] = None, steps: Optional[int] = None, threads: Optional[int] = None,
    pixels: Optional[Pixels] = None, shape: Optional[Mapping[str, Sequence[int]]] = None, batch: Optional[int] = None,
    mean: Optional[Numbers] = None, norm: Optional[Numbers] = None, color: Optional[Literal['rgb', 'bgr', 'gray']] = None,
    resize: Optional[Literal['stretch', 'crop', 'letterbox']] = None, border: Optional[int] = None, focus: bool = False,
    outputs: Optional[Texts] = None, answers: Optional[Answers] = None, constant: Optional[Mapping[str, Value]] = None,
    external_data: bool = False, keep_dead: bool = False, state: Optional[Mapping[str, str]] = None,
    initial: Optional[Mapping[str, Value]] = None, stream: Optional[int] = None, max_work: Optional[int] = None,
    max_memory: Optional[int] = None,
) -> Network:
    """An int8 network from one in FP32 and a few samples. Its bytes are those that `intaglio calibrate` writes.

    network: a Network, or the path of one. The path of an ONNX or TFLite network or of an OpenVINO IR will do as well: it is
        imported first, with the keywords of `import_onnx` (pixels=, shape= and so on).
    batches: a folder of pictures, one picture or an .npy file, by path; a list of pictures' paths; an array; or any iterable
        of arrays, whose first dimension counts samples: a list, a generator, a data loader of torch's. Of (x, y) pairs
        only x is read. Of a network with several inputs each item is a dict by their names or a tuple in their order; a
        dict of paths or arrays will do as well. An iterable is read once, into memory.
    progress: called with a stage's name, how much of it is done and how much there is to do. Without it a line on stderr shows how
        far the work is, on a terminal and in a notebook; False: nothing does.

        int8 = intaglio.calibrate(net, loader, report="page.html", method="mse")
        int8 = intaglio.calibrate("net.onnx", "pictures/", pixels="imagenet")

    `report` of the result says how near the int8 network is. Ctrl-C ends the work. It runs as the network that it was made
    from: with its threads and instruction sets.

    Keywords:

    method: how the ranges of activations are chosen; auto unless given.
    percentile: the share of the values that a range holds, for method='percentile': above 0.5, up to 1.
    symmetric: activations have a zero point of 0, or of -128 where no value can be negative.
    power_of_two: every scale is a power of two.
    weight_bits: bits of the weights, 2 to 32; 8 unless given.
    safe_pairs: choose weights that AVX2 multiplies at full speed.
    int8_answers: round the scores of the last layer to codes, too, and what normalizes the inputs.
    compat: share scales and round weights as another tool does.
    set: quantize slots in another way, each as 'SLOT:bits=4,lo=-8,hi=7,rounding=half-up,policy=per-
        tensor+linear+symmetric,observer=kl'; SLOT is all, activations, weights, NODE, NODE/in0, NODE/out or NODE/weights.
    keep_float: nodes that stay in FP32, by their numbers or names.
    recover: steps that lessen the error of quantization: 'none', or some of default, depthwise, method, bias, means, cle, absorb, eq,
        lsq, adaround.
    profile: whose defaults hold: 'device' gives the bytes that a board gives by CalibratorOptions::device().
    int8_states: keep every state in int8, also where its rounding adds up from step to step.
    min_sqnr: give layers 16 bits, or keep them in FP32, until the output has an SQNR of so many dB.
    max_drop: likewise until top1 falls by at most so many points; needs labels=.
    labels: the right classes of the samples, for max_drop=: a list, or a folder of folders.
    names: a file with the names of the classes, by which labels may name them.
    no_fpu: for a machine without floating-point hardware: 16 bits come first.
    params: take scales and zero points from this file; without batches it must have all of them.
    params_format: the format of params=, where the file's name does not say it.
    map: a text file that says what names of params= are called in the model.
    observed: what `observe` has seen of other samples, perhaps elsewhere; without batches that is all there is. A list: parts
        of it, or a Question and the answers to it.
    question: with observed= alone: where sums over the samples are missing, raise the Question that `observe` answers.
    report: write an HTML page: verdict, worst layers, remedies, ranges.
    memory: what activations may take: 'least', a number of bytes, 'flat', layer by layer, or two memories: 'fast=64K,slow=2M'.
    ceiling: the most bytes that a session of the network may take on its device, which refuses more; 0: any.
    only: a text file with the names of the pictures to take, one a line.
    limit: take only so many samples: those with the smallest SHA-256, whatever their order.
    skip_bad: leave out pictures that cannot be read; report.notes names each.
    frame: the files of a folder are raw frames of a camera, of this size and order of pixels: '640x480:yuyv'.
    row_bytes: with frame=: bytes from row to row, where these have gaps.
    steps: of a network with states: so many samples, in their order, are one sequence; all unless given.
    threads: how many threads work; those of the network unless given.
    """
    fp32, options = _float_model(network, _given(locals(), "network", "batches", "progress"))
    imported = fp32.report.notes if fp32 is not network and fp32.report is not None else []
    if batches is None and not params and observed is None:
        raise TypeError("calibrate: give batches, or observed= of other samples, or params= for scales that another tool found")
    parts = observed if isinstance(observed, (list, tuple)) else [observed]
    del options["observed"]
    options["from"] = None if observed is None else [bytes(part if isinstance(part, Question) else Observed.of(part)) for part in parts]
    samples = samples_of(batches, fp32._wanted()).sources if batches is not None else []
    if report is not None:
        _intaglio.check_report(encoded(report))
    options["images"] = batches is not None
    made, page, said, notes, warned = _intaglio.calibrate(_run_as(fp32, threads, None)._runner, samples, options, *line_of(progress))
    for warning in warned:
        warn(warning)
    if "asked" in said:
        raise Question(made)
    int8 = Network(made, f"{fp32.name} (int8)", fp32.threads, fp32.isa)
    int8.report = Report(_with_warnings(said, warned), "calibration", [*imported, *notes])
    if page is not None and report is not None:
        try:
            _intaglio.write_file(encoded(report), page)
        except Error as error:  # after minutes of work: what it made is not thrown away
            warn(f"report=: {error}; the int8 network is complete")
    return int8


def observe(
    network: Any, batches: Any, *, progress: Progress = None,
    method: Optional[Method] = None, percentile: Optional[float] = None, symmetric: bool = False, power_of_two: bool = False,
    weight_bits: Optional[int] = None, safe_pairs: bool = False, int8_answers: bool = False,
    compat: Optional[Literal['none', 'tengine', 'ppq']] = None, set: Optional[Texts] = None,
    keep_float: Optional[Nodes] = None, int8_states: bool = False, only: Optional[Path] = None, limit: Optional[int] = None,
    skip_bad: bool = False, frame: Optional[str] = None,
    row_bytes: Optional[int] = None, steps: Optional[int] = None, question: Optional[Question] = None,
    threads: Optional[int] = None,
) -> Observed:
    """What a calibration sees of samples, to be merged and calibrated from elsewhere. The samples stay where they are.

    network: the one in FP32. batches, progress and the keywords: as in `calibrate`, which then takes the same ones.

        seen = intaglio.observe(net, here) + intaglio.observe(net, there)
        int8 = intaglio.calibrate(net, observed=seen)

    question: what `calibrate` asks of all samples, to be answered of these.

        said = [sum(intaglio.observe(net, part) for part in parts)]
        while said:
            try:
                int8, said = intaglio.calibrate(net, observed=said, question=True), None
            except intaglio.Question as asked:
                said = [asked, sum(intaglio.observe(net, part, question=asked) for part in parts)]
    """
    fp32, options = model_of(network, "network"), _given(locals(), "network", "batches", "progress")
    options["images"] = True
    if question is not None:
        options["question"] = bytes(question)
    samples = samples_of(batches, fp32._wanted()).sources
    state, _, _, warned = _intaglio.observe(_run_as(fp32, threads, None)._runner, samples, options, *line_of(progress))
    for warning in warned:
        warn(warning)
    return Observed(state)


def simulate(
    network: Any, batches: Any, *, progress: Progress = None,
    method: Optional[Method] = None, percentile: Optional[float] = None, symmetric: bool = False, power_of_two: bool = False,
    weight_bits: Optional[int] = None, safe_pairs: bool = False, int8_answers: bool = False,
    compat: Optional[Literal['none', 'tengine', 'ppq']] = None, set: Optional[Texts] = None,
    keep_float: Optional[Nodes] = None, params: Optional[Path] = None, params_format: Optional[str] = None,
    map: Optional[Path] = None, exact: bool = False, only: Optional[Path] = None, limit: Optional[int] = None,
    skip_bad: bool = False, frame: Optional[str] = None,
    row_bytes: Optional[int] = None, threads: Optional[int] = None,
) -> Report:
    """What a quantization would do that int8 kernels cannot compute: other bits, roundings and codes, layer by layer.

    network: the one in FP32. batches, progress and the keywords: as in `calibrate`. No recovery runs.
    exact: compute layers with weights from exact products, even where kernels could run them.

        intaglio.simulate(net, "pictures/", set=["weights:bits=4", "activations:rounding=half-up"]).layers
    """
    fp32, options = model_of(network, "network"), _given(locals(), "network", "batches", "progress")
    options["images"] = True
    samples = samples_of(batches, fp32._wanted()).sources
    said, notes, warned = _intaglio.simulate(_run_as(fp32, threads, None)._runner, samples, options, *line_of(progress))
    for warning in warned:
        warn(warning)
    return Report(_with_warnings(said, warned), f"simulation of {fp32.name}", notes)


def _with_warnings(said: Dict[str, Any], warned: Sequence[str]) -> Dict[str, Any]:
    return {**said, "warnings": list(warned)} if warned else said


def _run_as(model: Network, threads: Optional[int], isa: Optional[str]) -> Network:
    """The same network, as it shall run."""
    if threads is None and isa is None:
        return model
    return Network(bytes(model), model.name, model.threads if threads is None else threads, model.isa if isa is None else isa)


def compare(
    reference: Any, test: Any, batches: Any, *, progress: Progress = None,
    labels: Any = None, names: Optional[Path] = None, score: Optional[float] = None, decoder: Optional[str] = None,
    only: Optional[Path] = None, limit: Optional[int] = None, skip_bad: bool = False, frame: Optional[str] = None,
    row_bytes: Optional[int] = None, steps: Optional[int] = None, threads: Optional[int] = None, isa: Optional[str] = None,
) -> Report:
    """How far a network is from the one that it was made from, on the same samples.

    reference: the one in FP32. test: the one that was made from it. batches: as in `calibrate`. progress: as there.

    The result has sqnr_db, cosine, agreement of classes, errors of outputs that are none, and a table `layers`, of which
    `layers.sorted_by('sqnr_db')` begins with the worst. Of a detector of pictures it has `detections`: f1 and the like of the boxes
    that test finds, where those of reference are right.

    Keywords:

    labels: a file or a folder, or a class number for each sample. Of boxes as in `evaluate`.
    names: a file with the names of the classes, by which labels may name them.
    score: of a detector: count boxes with at least this score, 0 to 1; 0.25 unless given.
    decoder: of a detector: how its outputs become boxes, where they do not say it themselves: 'yolov8', 'ssd' and others.
    only: a text file with the names of the pictures to take, one a line.
    limit: take only so many samples: those with the smallest SHA-256, whatever their order.
    skip_bad: leave out pictures that cannot be read; report.notes names each.
    frame: the files of a folder are raw frames of a camera, of this size and order of pixels: '640x480:yuyv'.
    row_bytes: with frame=: bytes from row to row, where these have gaps.
    steps: of a network with states: so many samples, in their order, are one sequence; all unless given.
    threads: how many threads work on each layer.
    isa: no instruction set beyond this one; results are the same.
    """
    first, second = _run_as(model_of(reference, "reference"), threads, isa), model_of(test, "test")
    samples = samples_of(batches, first._wanted())
    options = {"labels": None if labels is None else labels_of(labels, samples), "names": names, "score": score,
               "decoder": decoder, "only": only, "limit": limit,
               "skip_bad": skip_bad, "frame": frame, "row_bytes": row_bytes, "steps": steps, "images": True}
    said, notes, warned = _intaglio.compare(first._runner, second._runner, samples.sources, options, *line_of(progress))
    for warning in warned:
        warn(warning)
    return Report(_with_warnings(said, warned), f"{second.name} against {first.name}", notes)


def evaluate(
    network: Any, batches: Any, labels: Any, *, progress: Progress = None,
    names: Optional[Path] = None, score: Optional[float] = None, decoder: Optional[str] = None,
    only: Optional[Path] = None, limit: Optional[int] = None, skip_bad: bool = False,
    frame: Optional[str] = None, row_bytes: Optional[int] = None,
    steps: Optional[int] = None, threads: Optional[int] = None, isa: Optional[str] = None,
) -> Report:
    """How often the network's best class is the right one: count, top1 and top5 in percent. Of a detector how its boxes agree with
    labelled ones: right, wrong, missed, precision, recall, f1 and map50.

    network: a Network, or the path of one. batches: as in `calibrate`. labels: a file or a folder, or a class number for each
        sample; of boxes a folder with a text file a picture, as YOLO's, or COCO's JSON. progress: as in `calibrate`.

    Keywords:

    names: a file with the names of the classes, by which labels may name them.
    score: of a detector: count boxes with at least this score, 0 to 1; 0.25 unless given.
    decoder: of a detector: how its outputs become boxes, where they do not say it themselves: 'yolov8', 'ssd' and others.
    only: a text file with the names of the pictures to take, one a line.
    limit: take only so many samples: those with the smallest SHA-256, whatever their order.
    skip_bad: leave out pictures that cannot be read; report.notes names each.
    frame: the files of a folder are raw frames of a camera, of this size and order of pixels: '640x480:yuyv'.
    row_bytes: with frame=: bytes from row to row, where these have gaps.
    steps: of a network with states: so many samples, in their order, are one sequence; all unless given.
    threads: how many threads work on each layer.
    isa: no instruction set beyond this one; results are the same.
    """
    model = _run_as(model_of(network, "network"), threads, isa)
    samples = samples_of(batches, model._wanted())
    options = {"labels": labels_of(labels, samples), "names": names, "score": score, "decoder": decoder, "only": only,
               "limit": limit, "skip_bad": skip_bad, "frame": frame, "row_bytes": row_bytes,
               "steps": steps, "images": True}
    said, notes, warned = _intaglio.evaluate(model._runner, samples.sources, options, *line_of(progress))
    for warning in warned:
        warn(warning)
    return Report(_with_warnings(said, warned), f"eval {model.name}", notes)


def command(*words: Any, progress: Progress = None) -> str:
    """What `intaglio WORDS...` prints, for all that has no function here: command("verify", "net.itg").

    Runs in this process. A failure is an exception, as elsewhere.
    """
    return run([os.fspath(word) if is_path(word) else str(word) for word in words], progress)
