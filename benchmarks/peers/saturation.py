"""Whether a peer's int8 convolutions are exact, where sums of two products pass what int16 holds.

Without VNNI, u8 activations times s8 weights go through vpmaddubsw, which adds two products in a saturating int16. The
network here, at full scale, has four weights of 127 side by side and then four of -100: the pairs come to 64770 and -51000,
of which 32767 and -32768 would be left, while the true sum is small and positive.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE, STEP = 64, 8, 1024.0


def weights_of(kernel):
    """[output, input, y, x], all in the middle tap; and the exact codes of the outputs, one a channel."""
    weights = numpy.zeros((CHANNELS, CHANNELS, kernel, kernel), numpy.int8)
    for c in range(CHANNELS):
        row = numpy.zeros(CHANNELS, numpy.int8)
        row[0:4], row[4:8] = 127, -100
        weights[c, :, kernel // 2, kernel // 2] = numpy.roll(row, 8 * (c % 8))
    sums = 255 * weights.astype(numpy.int64).sum(axis=(1, 2, 3))
    return weights, numpy.clip(numpy.rint(sums / STEP), 0, 255)


def write(path, kernel):
    """A convolution between quantize/dequantize pairs; returns the exact outputs."""
    weights, codes = weights_of(kernel)
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
    return numpy.broadcast_to((codes * STEP)[None, :, None, None], [1, CHANNELS, SIDE, SIDE]).astype(numpy.float32)


def write_tflite(path, kernel):
    """The same as TFLite has it: signed codes with a zero point of -128; returns the exact codes."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema
    weights, codes = weights_of(kernel)
    model, graph = schema.ModelT(), schema.SubGraphT()
    contents = [b"", weights.transpose(0, 2, 3, 1).tobytes(), bytes(4 * CHANNELS)]
    model.buffers = [schema.BufferT() for _ in contents]
    for buffer, content in zip(model.buffers, contents):
        buffer.data = numpy.frombuffer(content, numpy.uint8)

    def tensor(name, kind, shape, buffer, scale, zero_point):
        made = schema.TensorT()
        made.name, made.type, made.shape, made.buffer = name, kind, shape, buffer
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale = [scale] * len(zero_point)
        made.quantization.zeroPoint = zero_point
        return made

    image, zeros = [1, SIDE, SIDE, CHANNELS], [0] * CHANNELS
    kinds = schema.TensorType
    graph.tensors = [tensor("x", kinds.INT8, image, 0, 1.0, [-128]),
                     tensor("weights", kinds.INT8, [CHANNELS, kernel, kernel, CHANNELS], 1, 1.0, zeros),
                     tensor("bias", kinds.INT32, [CHANNELS], 2, 1.0, zeros), tensor("y", kinds.INT8, image, 0, STEP, [-128])]
    conv = schema.OperatorT()
    conv.opcodeIndex, conv.inputs, conv.outputs = 0, [0, 1, 2], [3]
    conv.builtinOptionsType, conv.builtinOptions = schema.BuiltinOptions.Conv2DOptions, schema.Conv2DOptionsT()
    conv.builtinOptions.strideW = conv.builtinOptions.strideH = 1
    graph.inputs, graph.outputs, graph.operators = [0], [3], [conv]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CONV_2D
    code.version = 3
    model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())
    return numpy.broadcast_to(codes - 128, image).astype(numpy.int8)


def exact_litert(work, run):
    """run: function of path and input to output. Whether its 1 x 1 and 3 x 3 convolutions are exact."""
    x = numpy.full([1, SIDE, SIDE, CHANNELS], 127, numpy.int8)
    found = True
    for kernel in (1, 3):
        path = work / f"saturation_{kernel}.tflite"
        expected = write_tflite(path, kernel)
        found = found and bool(numpy.array_equal(run(path, x), expected))
    return found


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
