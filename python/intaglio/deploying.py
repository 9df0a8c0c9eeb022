"""A network for its device: where its memory lies, C sources of it, and files for other runtimes."""

from __future__ import annotations

from typing import Any, Literal, Optional, Union

from . import _intaglio
from .making import Path, content_of, model_of
from .network import Network
from .tables import Report
from .words import encoded, existing, is_path


def plan(
    network: Any, *, memory: Union[str, int, None] = None, ceiling: Optional[int] = None,
    feed_rows: bool = False,
) -> Network:
    """The same network with layers that run by rows, to take less memory. Its outputs are the same bytes.

    network: a Network, or the path of one.
    memory: what activations may take: 'least' unless given, a number of bytes, 'flat', layer by layer, or two memories, a fast one and a
        large one: 'fast=64K,slow=2M'. What is read most lies in the fast one.
    ceiling: the most bytes that a session of the network may take on its device, which refuses more; 0: any. The file's own unless
        given.
    feed_rows: the first input comes row by row, as from a camera: it has a line buffer, too, where that saves memory.

        intaglio.plan(int8, memory=150000).save("net.small.itg")
    """
    model = model_of(network, "network")
    made, said, notes, _ = _intaglio.plan(model._runner, {"memory": memory, "ceiling": ceiling, "feed_rows": feed_rows})
    planned = Network(made, model.name, model.threads, model.isa)
    planned.report = Report(said, "plan", notes)
    return planned


def export_c(
    network: Any, folder: Path, *, target: Optional[str] = None, planned: bool = False, prefix: Optional[str] = None,
    frame: Optional[str] = None,
) -> Report:
    """Writes the network as C and C++ sources for firmware; the report says what it takes there.

    network: a Network, or the path of one. folder: is made where there is none. What somebody changed in it stays, or is an error.
    target: the machine that will run it, 'scalar' unless given: 'cortex-m4' and others.
    planned: check and plan the session here. The program is smaller, and its model cannot be replaced.
    prefix: begin every name with this, so that several models fit one program; 'net' unless given.
    frame: the camera's frames that main.c takes: '320x240:rgb565'. By default of the size and colours of the model's picture.
    """
    model = model_of(network, "network")
    options = {"target": target, "planned": planned, "prefix": prefix, "frame": frame}
    said, notes, _ = _intaglio.export_c(model._runner, encoded(folder), options)
    return Report(said, f"{model.name} as C sources", notes)


def export_onnx(
    network: Any, source: Any, path: Path, *, form: Optional[Literal['qdq', 'qoperator', 'fakequantize']] = None
) -> Report:
    """Writes a network as an ONNX file, quantized where it is. It is read back before that, compared, and run.

    network: a Network, or the path of one.
    source: the ONNX network that it was imported from, as `import_onnx` takes it: inputs and outputs have the order of axes, the rank and
        the type that they have there. None: those of the network here.
    path: the file to write. It replaces an ONNX file or an empty file, and no other.
    form: how quantization is written: 'qdq' unless given.
    """
    model = model_of(network, "network")
    _intaglio.check_export(encoded(path), "onnx")
    name, content = "", None
    if source is not None:
        name, content = (existing(source), None) if is_path(source) else ("bytes", content_of(source))
    made, said, notes, _ = _intaglio.export_onnx(model._runner, encoded(name), content, {"form": form})
    _intaglio.write_file(encoded(path), made)
    return Report(said, f"{model.name} as an ONNX file", notes)


def export_tflite(network: Any, path: Path) -> Report:
    """Writes an int8 network as a TFLite file. It is read back before that, compared, and run.

    network: a Network, or the path of one.
    path: the file to write. It replaces a TFLite file or an empty file, and no other.
    """
    model = model_of(network, "network")
    _intaglio.check_export(encoded(path), "tflite")
    made, said, notes, _ = _intaglio.export_tflite(model._runner)
    _intaglio.write_file(encoded(path), made)
    return Report(said, f"{model.name} as a TFLite file", notes)
