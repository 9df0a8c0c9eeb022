"""One function a tool: calibrates an FP32 file with samples and gives a function that runs the int8 network.

  tool(network, source, inputs, work) -> run(inputs) -> outputs before softmax, float [n, classes]

`source` is the ONNX file of shared_networks.logits_file, `inputs` float32 [n, c, h, w]. Options are the tool's own defaults for
int8 on a CPU: asymmetric u8 activations per tensor, int8 weights with a scale a channel.
"""
import contextlib
import os

import numpy


class Absent(Exception):
    """The tool is not installed, or does not take this network."""


@contextlib.contextmanager
def silence():
    """Of what tools tell on the way, also from their own threads and libraries."""
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        for file in (*kept, nowhere):
            os.close(file)


def one_by_one(run, inputs):
    return numpy.concatenate([numpy.asarray(run(inputs[i:i + 1])).reshape(1, -1) for i in range(len(inputs))])


def onnx_session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = session.get_inputs()[0].name
    return lambda inputs: one_by_one(lambda x: session.run(None, {feed: x})[0], inputs)


def onnxruntime_with(method):
    def tool(network, source, inputs, work):
        import logging
        from onnxruntime import quantization
        logging.disable(logging.WARNING)
        prepared, target = work / "prepared.onnx", work / "int8.onnx"
        quantization.shape_inference.quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        feed = onnx_input(source)

        class Reader(quantization.CalibrationDataReader):
            left = iter(range(len(inputs)))

            def get_next(self):
                i = next(self.left, None)
                return None if i is None else {feed: inputs[i:i + 1]}

        with silence():
            quantization.quantize_static(str(prepared), str(target), Reader(), quant_format=quantization.QuantFormat.QDQ,
                                         per_channel=True, activation_type=quantization.QuantType.QUInt8,
                                         weight_type=quantization.QuantType.QInt8,
                                         calibrate_method=getattr(quantization.CalibrationMethod, method))
        return onnx_session(target)
    return tool


def onnx_input(source):
    import onnx
    return onnx.load(str(source)).graph.input[0].name


def nncf_openvino(network, source, inputs, work):
    """Post-training quantization with its default bias correction."""
    try:
        import nncf
        import openvino
    except ImportError as error:
        raise Absent(str(error)) from error
    nncf.set_log_level(40)
    core = openvino.Core()
    with silence():
        int8 = nncf.quantize(core.read_model(str(source)), nncf.Dataset([x[None] for x in inputs]), subset_size=len(inputs))
    compiled = core.compile_model(int8, "CPU", {"INFERENCE_NUM_THREADS": "1"})
    return lambda x: one_by_one(lambda sample: next(iter(compiled(sample).values())), x)


def litert_twin(network, work):
    """The .tflite twin without its final softmax, with the signature that the quantizer asks for."""
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_quantizer.utils import tfl_flatbuffer_utils
    if network.twin is None:
        raise Absent("there is no .tflite file of this network")
    model = tfl_flatbuffer_utils.read_model(str(network.twin))
    graph = model.subgraphs[0]
    last = graph.operators[-1]
    if model.operatorCodes[last.opcodeIndex].builtinCode == schema.BuiltinOperator.SOFTMAX:
        graph.operators.pop()
        graph.tensors[last.outputs[0]].name = b""  # the quantizer reads the values of all that have a name
        graph.outputs = numpy.array([last.inputs[0]], numpy.int32)
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = b"serving_default", 0
    signature.inputs, signature.outputs = ([tensor_map(schema, name, index)] for name, index in
                                           ((b"x", graph.inputs[0]), (b"y", graph.outputs[0])))
    model.signatureDefs = [signature]
    target = work / "logits.tflite"
    tfl_flatbuffer_utils.write_model(model, str(target))
    return target


def tensor_map(schema, name, index):
    entry = schema.TensorMapT()
    entry.name, entry.tensorIndex = name, int(index)
    return entry


def litert(network, source, inputs, work):
    """ai-edge-quantizer, which makes static int8 files for LiteRT."""
    try:
        from ai_edge_litert.interpreter import Interpreter
        from ai_edge_quantizer import quantizer, recipe
    except ImportError as error:
        raise Absent(str(error)) from error
    twin, target = litert_twin(network, work), work / "int8.tflite"
    shape = Interpreter(str(twin)).get_input_details()[0]["shape"]
    nhwc = lambda x: numpy.ascontiguousarray(x.transpose(1, 2, 0)).reshape(shape)
    with silence():
        tool = quantizer.Quantizer(str(twin), recipe.static_wi8_ai8())
        seen = tool.calibrate({"serving_default": [{"x": nhwc(x)} for x in inputs]}, num_threads=1)
        target.write_bytes(tool.quantize(seen).quantized_model)
    return litert_session(target, nhwc)


def litert_session(path, nhwc):
    from ai_edge_litert.interpreter import Interpreter
    with silence():
        interpreter = Interpreter(str(path), num_threads=1)
        interpreter.allocate_tensors()
    feed, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]

    def run(sample):
        x = nhwc(sample[0])
        scale, zero = feed["quantization"]
        if feed["dtype"] != numpy.float32:
            limits = numpy.iinfo(feed["dtype"])
            x = numpy.clip(numpy.rint(x / scale) + zero, limits.min, limits.max).astype(feed["dtype"])
        interpreter.set_tensor(feed["index"], x)
        interpreter.invoke()
        y = interpreter.get_tensor(result["index"])
        scale, zero = result["quantization"]
        return y if y.dtype == numpy.float32 else scale * (y.astype(numpy.float32) - zero)
    return lambda inputs: one_by_one(run, inputs)


def published(network):
    """The int8 file that others made of the same weights, run by LiteRT; its outputs are probabilities."""
    import shared_networks as networks
    try:
        import ai_edge_litert.interpreter  # noqa: F401
    except ImportError as error:
        raise Absent(str(error)) from error
    return litert_session(networks.SHARED / "models" / network.published, lambda x: x.transpose(1, 2, 0)[None])


# name: (package whose version is reported, tool)
TOOLS = {
    "onnxruntime min-max": ("onnxruntime", onnxruntime_with("MinMax")),
    "onnxruntime entropy": ("onnxruntime", onnxruntime_with("Entropy")),
    "onnxruntime percentile": ("onnxruntime", onnxruntime_with("Percentile")),
    "NNCF, OpenVINO": ("nncf", nncf_openvino),
    "ai-edge-quantizer, LiteRT": ("ai-edge-quantizer", litert),
}
