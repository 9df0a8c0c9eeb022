"""intaglio: int8 models from FP32 networks, calibrated on a few samples, and run.

    import intaglio

    net = intaglio.import_onnx("net.onnx", pixels="imagenet")
    int8 = intaglio.calibrate(net, batches, report="page.html")
    y = int8.run(x)
    int8.save("net.int8.itg")
    int8.measure("cortex-m4")
    intaglio.compare(net, int8, batches).layers

It is the command `intaglio` in Python's words: the same options, the same bytes.
"""

from ._intaglio import format_version, version as __version__
from .deploying import export_c, export_onnx, export_tflite, plan
from .errors import Error
from .frames import frame_pixels
from .learning import LastLayer, LastLayerLearner
from .making import calibrate, command, compare, evaluate, import_onnx, import_openvino, import_tflite, observe, simulate
from .network import Network, Tensor, open
from .observed import Observed, Question
from .tables import Report, Table

# Without open: `from intaglio import *` leaves Python's own.
__all__ = [
    "Error", "LastLayer", "LastLayerLearner", "Network", "Observed", "Question", "Report", "Table", "Tensor", "calibrate", "command",
    "compare", "evaluate", "export_c", "export_onnx", "export_tflite", "format_version", "frame_pixels", "import_onnx",
    "import_openvino", "import_tflite", "observe", "plan", "simulate",
]
