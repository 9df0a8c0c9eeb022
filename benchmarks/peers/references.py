"""Reference runtimes of published files, onnxruntime and LiteRT, and samples that their inputs take."""

PACKAGES = {"numpy": "numpy", "onnx": "onnx", "onnxruntime": "onnxruntime", "ai_edge_litert": "ai-edge-litert"}


class Onnxruntime:
    """Inputs as (name, shape, numpy type); shapes without open dimensions."""

    def __init__(self, path, side, threads=1, length=1):
        import onnx
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = [(i.name, closed(i.shape, side, length), TYPES[i.type]) for i in self.session.get_inputs()]
        self.open = [any(not isinstance(d, int) or d < 1 for d in i.shape) for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]
        operators = {node.op_type for node in onnx.load(str(path), load_external_data=False).graph.node}
        self.rounds_as_it_goes = any(name.startswith("DynamicQuantize") for name in operators)

    def real(self, values):
        """What the model takes that has 16 bits as reals."""
        return values

    def run(self, values):
        return self.session.run(None, dict(zip((name for name, _, _ in self.inputs), values)))


class LiteRt:
    def __init__(self, path, side, built_in=False, threads=1, length=1):
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
        kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if built_in else OpResolverType.AUTO
        self.interpreter = Interpreter(str(path), num_threads=threads, experimental_op_resolver_type=kind)
        self.open = []
        for detail in self.interpreter.get_input_details():
            signature = detail.get("shape_signature", detail["shape"])
            self.open.append(any(d < 1 for d in signature))
            if self.open[-1]:
                self.interpreter.resize_tensor_input(detail["index"], closed([int(d) for d in signature], side, length))
        self.interpreter.allocate_tensors()
        self.details = self.interpreter.get_input_details()
        self.inputs = [(d["name"], [int(n) for n in d["shape"]], d["dtype"]) for d in self.details]
        self.outputs = [d["name"] for d in self.interpreter.get_output_details()]
        self.steps_of_16_bits = [d["quantization"][0] if d["dtype"].__name__ == "int16" else 0.0
                                 for d in self.interpreter.get_output_details()]
        kinds = {d["dtype"].__name__ for d in self.interpreter.get_tensor_details()}
        self.rounds_as_it_goes = bool(kinds & {"int8", "uint8"}) and "int16" not in kinds

    def real(self, values):
        return [value * detail["quantization"][0] if detail["dtype"].__name__ == "int16" and detail["quantization"][0] else value
                for detail, value in zip(self.details, values)]

    def run(self, values):
        for detail, value in zip(self.details, values):
            self.interpreter.set_tensor(detail["index"], value)
        self.interpreter.invoke()
        found = []
        for detail in self.interpreter.get_output_details():
            value = self.interpreter.get_tensor(detail["index"])
            scale, zero_point = detail["quantization"]
            found.append((value.astype("float64") - zero_point) * scale if scale else value)
        return found


TYPES = {"tensor(float)": "float32", "tensor(uint8)": "uint8", "tensor(int8)": "int8", "tensor(int32)": "int32",
         "tensor(int64)": "int64", "tensor(bool)": "bool", "tensor(double)": "float64", "tensor(float16)": "float16",
         "tensor(uint16)": "uint16", "tensor(int16)": "int16", "tensor(string)": "str"}


def closed(shape, side, length):
    """Open dimensions: the sides of pictures, 1 sample, and a length elsewhere."""
    shape = [d if isinstance(d, int) and d > 0 else None for d in shape]
    picture = len(shape) == 4
    channels_last = picture and shape[3] in (1, 3) and shape[1] not in (1, 3)
    sides = ((1, 2) if channels_last else (2, 3)) if picture else ()
    return [d if d is not None else side if i in sides else length if i > 0 and not picture else 1 for i, d in enumerate(shape)]


def sample(inputs, seed):
    """One array for each input, in the reference's layout."""
    import numpy
    random = numpy.random.default_rng(seed)
    values = []
    for _, shape, dtype in inputs:
        dtype = numpy.dtype(dtype)
        if dtype != numpy.int16 and len(shape) == 4 and (shape[1] in (1, 3) or shape[3] in (1, 3)) and min(shape[2], max(shape[1], shape[3])) > 8:
            value = picture(random, shape)
            values.append((value * 255).round().astype(dtype) if dtype == numpy.uint8 else
                          ((value * 255).round() - 128).astype(dtype) if dtype == numpy.int8 else value.astype(dtype))
        elif dtype.kind == "f":
            values.append(random.standard_normal(shape).astype(dtype))
        elif dtype == numpy.bool_:
            values.append(random.integers(0, 2, shape).astype(dtype))
        elif dtype.itemsize < 4:
            values.append(random.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max + 1, shape).astype(dtype))
        else:
            values.append(random.integers(0, 64, shape).astype(dtype))
    return values


def picture(random, shape):
    import numpy
    channels_last = shape[3] in (1, 3) and shape[1] not in (1, 3)
    height, width = (shape[1], shape[2]) if channels_last else (shape[2], shape[3])
    channels = shape[3] if channels_last else shape[1]
    y, x = numpy.mgrid[0:height, 0:width] / max(height, width)
    planes = []
    for _ in range(channels):
        plane = random.uniform(0.2, 0.8) + random.uniform(-0.3, 0.3) * x + random.uniform(-0.3, 0.3) * y
        for _ in range(6):
            cx, cy, r, level = random.uniform(0, 1, 4)
            plane = numpy.where((x - cx) ** 2 + (y - cy) ** 2 < (0.05 + r * 0.3) ** 2, level, plane)
        planes.append(numpy.clip(plane + random.normal(0, 0.03, plane.shape), 0, 1))
    value = numpy.stack(planes, -1 if channels_last else 0)[None]
    return numpy.repeat(value, shape[0], 0).round(3)
