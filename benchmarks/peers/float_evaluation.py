"""ONNX files computed by onnxruntime as they stand, in float: what our own results are held against."""
import numpy
import onnx
import onnxruntime
from onnx import helper
from PIL import Image


def fake_quantize():
    """org.openvinotoolkit::FakeQuantize in operators of ONNX, since onnxruntime has none."""
    node = helper.make_node
    levels = node("Constant", [], ["levels_s64"])
    levels.attribute.append(onnx.AttributeProto(name="value_int", ref_attr_name="levels", type=onnx.AttributeProto.INT))
    body = [levels, node("Cast", ["levels_s64"], ["levels_f32"], to=onnx.TensorProto.FLOAT),
            node("Constant", [], ["one"], value_float=1.0), node("Sub", ["levels_f32", "one"], ["steps"]),
            node("Max", ["x", "in_low"], ["above"]), node("Min", ["above", "in_high"], ["inside"]),
            node("Sub", ["inside", "in_low"], ["from_low"]), node("Sub", ["in_high", "in_low"], ["width"]),
            node("Div", ["from_low", "width"], ["share"]), node("Mul", ["share", "steps"], ["place"]),
            node("Round", ["place"], ["code"]), node("Div", ["code", "steps"], ["new_share"]),
            node("Sub", ["out_high", "out_low"], ["out_width"]), node("Mul", ["new_share", "out_width"], ["from_out_low"]),
            node("Add", ["from_out_low", "out_low"], ["y"])]
    return helper.make_function("org.openvinotoolkit", "FakeQuantize", ["x", "in_low", "in_high", "out_low", "out_high"], ["y"],
                                body, [helper.make_opsetid("", 15)], ["levels"])


class Evaluation:
    """A file with one input, fed NHWC samples whatever its own layout is."""

    def __init__(self, path):
        model = onnx.load(str(path))
        if any(opset.domain == "org.openvinotoolkit" for opset in model.opset_import):
            model.functions.append(fake_quantize())
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # no int8 kernels
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0]

    def run(self, sample):
        shape = self.input.shape
        if len(shape) == 4 and shape[1:] != list(sample.shape):
            sample = sample.transpose(2, 0, 1)
        return self.session.run(None, {self.input.name: numpy.ascontiguousarray(sample).reshape(shape)})


def outputs(path, samples):
    """One array for each output, over all samples."""
    evaluation = Evaluation(path)
    return [numpy.concatenate(arrays) for arrays in zip(*(evaluation.run(sample) for sample in samples))]


def pictures(folder, names, options):
    """Pictures of the size that the model takes, through the preprocessing of `intaglio import` `options`."""
    stated = dict(zip(options[::2], options[1::2]))
    for name in names:
        pixels = numpy.asarray(Image.open(folder / name).convert("RGB"), numpy.float32)
        if stated.get("--color") == "bgr":
            pixels = pixels[:, :, ::-1]
        mean, norm = (numpy.float32(stated.get(key, plain).split(",")) for key, plain in (("--mean", "0"), ("--norm", "1")))
        yield (pixels - mean) * norm


def top1(path, samples, labels, options):
    """In percent. `samples`: an .npy file or a folder of pictures."""
    lines = [line.rsplit(" ", 1) for line in labels.read_text().splitlines() if line]
    arrays = numpy.load(samples) if samples.suffix == ".npy" else pictures(samples, [name for name, _ in lines], options)
    evaluation = Evaluation(path)
    right = sum(int(evaluation.run(sample)[0].argmax()) == int(label) for sample, (_, label) in zip(arrays, lines))
    return 100 * right / len(lines)
