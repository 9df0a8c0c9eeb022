"""Whether a peer's int8 convolutions are exact, where sums of two products pass what int16 holds.

Without VNNI, u8 activations times s8 weights go through vpmaddubsw, which adds two products in a saturating int16. The
network here, at full scale, has four weights of 127 side by side and then four of -100: the pairs come to 64770 and -51000,
of which 32767 and -32768 would be left, while the true sum is small and positive.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE, STEP = 64, 8, 1024.0


def write(path, kernel):
    """A convolution between quantize/dequantize pairs, its weights in the middle tap; returns the exact outputs."""
    weights = numpy.zeros((CHANNELS, CHANNELS, kernel, kernel), numpy.int8)
    for c in range(CHANNELS):
        row = numpy.zeros(CHANNELS, numpy.int8)
        row[0:4], row[4:8] = 127, -100
        weights[c, :, kernel // 2, kernel // 2] = numpy.roll(row, 8 * (c % 8))
    values = {"one": numpy.float32(1), "zero": numpy.uint8(0), "scales": numpy.ones(CHANNELS, numpy.float32),
              "zeros": numpy.zeros(CHANNELS, numpy.int8), "weights": weights, "step": numpy.float32(STEP)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "one", "zero"], ["x_codes"]),
             helper.make_node("DequantizeLinear", ["x_codes", "one", "zero"], ["x_values"]),
             helper.make_node("DequantizeLinear", ["weights", "scales", "zeros"], ["w_values"], axis=0),
             helper.make_node("Conv", ["x_values", "w_values"], ["sums"], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4),
             helper.make_node("QuantizeLinear", ["sums", "step", "zero"], ["codes"]),
             helper.make_node("DequantizeLinear", ["codes", "step", "zero"], ["y"])]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, CHANNELS, SIDE, SIDE])
    graph = helper.make_graph(nodes, "saturation", [value("x")], [value("y")],
                              [numpy_helper.from_array(numpy.asarray(v), k) for k, v in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
    sums = 255 * weights.astype(numpy.int64).sum(axis=(1, 2, 3))
    codes = numpy.clip(numpy.rint(sums / STEP), 0, 255)
    return numpy.broadcast_to((codes * STEP)[None, :, None, None], [1, CHANNELS, SIDE, SIDE]).astype(numpy.float32)


def exact_peers(work, runners):
    """runners: {peer: function of path and input to output}. {peer: whether its 1 x 1 and 3 x 3 convolutions are exact}."""
    x = numpy.full([1, CHANNELS, SIDE, SIDE], 255, numpy.float32)
    found = dict.fromkeys(runners, True)
    for kernel in (1, 3):
        path = work / f"saturation_{kernel}.onnx"
        expected = write(path, kernel)
        for peer, run in runners.items():
            found[peer] = found[peer] and bool(numpy.array_equal(run(path, x), expected))
    return found
