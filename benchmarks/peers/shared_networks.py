"""The networks and pictures that intaglio and its peers are compared on: the same FP32 file, cut off before a final
softmax, and the same pixels for everyone."""
import dataclasses
import functools
import os
import pathlib

import environment

SHARED = pathlib.Path(os.environ.get("INTAGLIO_SHARED", environment.ROOT.parent / "shared"))
MEAN, DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    file: str    # of FP32, .onnx; a .tflite twin has the same name
    set: str     # of pictures
    side: int    # of the input; 0: feature maps
    mean: tuple = (0.0,)
    norm: tuple = (1.0,)  # value = (pixel - mean) * norm
    swapped: bool = False  # the files hold blue where red should be
    published: str = ""    # an int8 file of the same weights

    @property
    def twin(self):
        path = SHARED / "models" / f"{self.file}.tflite"
        return path if path.exists() else None

    @functools.cached_property
    def labels(self):
        lines = (SHARED / "images" / self.set / "labels.txt").read_text().splitlines()
        return {name: int(label) for name, label in (line.rsplit(" ", 1) for line in lines if line)}

    def split(self, part):
        return (SHARED / "splits" / f"{self.set}.{part}").read_text().split()

    def samples(self, names):
        """uint8 pictures [n, h, w, 3] in the model's size and colours, or float32 feature maps [n, h, w, 1]."""
        import numpy
        if self.side == 0:
            return self.features[[int(name) for name in names]]
        return numpy.stack([self.picture(name) for name in names])

    @functools.cached_property
    def features(self):
        import numpy
        return numpy.load(SHARED / "images" / self.set / "features_f32.npy")

    @functools.lru_cache(maxsize=None)
    def picture(self, name):
        """Larger pictures: the central 87.5 % square, each pixel the mean of its area."""
        import numpy
        from PIL import Image
        pixels = numpy.asarray(Image.open(SHARED / "images" / self.set / name).convert("RGB"))
        if pixels.shape[:2] != (self.side, self.side):
            part = (7 * min(pixels.shape[:2]) + 4) // 8
            top, left = ((side - part) // 2 for side in pixels.shape[:2])
            share = area_shares(part, self.side)
            square = pixels[top:top + part, left:left + part].astype(numpy.float64)
            pixels = numpy.rint(numpy.einsum("yi,xj,ijc->yxc", share, share, square, optimize=True)).astype(numpy.uint8)
        return pixels[:, :, ::-1] if self.swapped else pixels

    def inputs(self, samples):
        """What peers get: float32 [n, c, h, w]."""
        import numpy
        values = (samples.astype(numpy.float32) - numpy.float32(self.mean)) * numpy.float32(self.norm)
        return numpy.ascontiguousarray(values.transpose(0, 3, 1, 2))

    def import_options(self):
        if self.side == 0:
            return []
        return ["--mean", ",".join(map(repr, self.mean)), "--norm", ",".join(map(repr, self.norm))]


def area_shares(sources, targets):
    """[target, source]: how much of the target pixel's area each source pixel takes."""
    import numpy
    edges = numpy.arange(targets + 1) * sources / targets
    pixels = numpy.arange(sources)
    overlap = numpy.minimum(edges[1:, None], pixels + 1) - numpy.maximum(edges[:-1, None], pixels)
    return numpy.maximum(overlap, 0) * targets / sources


NETWORKS = [
    Network("resnet8", "resnet8_fp32", "cifar10_500", 32, published="resnet8_int8.tflite"),
    Network("vww", "vww_96_fp32", "vww_1000", 96, norm=(1 / 255,), swapped=True, published="vww_96_int8.tflite"),
    Network("kws", "kws_fp32", "kws_1000", 0),
    Network("mobilenet_v1_0.25", "mobilenet_v1_0.25_224_fp32", "imagenet_200", 224, (127.5,), (1 / 127.5,)),
    Network("mobilenet_v2", "mobilenet_v2_1.0_224_fp32", "imagenet_200", 224, MEAN, tuple(1 / d for d in DEVIATION)),
    Network("squeezenet1.1", "squeezenet1.1_fp32", "imagenet_200", 224, MEAN, tuple(1 / d for d in DEVIATION)),
]


def logits_file(network, work):
    """The ONNX file without its final softmax, at an opset that every tool reads."""
    import onnx
    import onnx.version_converter
    target = work / f"{network.name}.logits.onnx"
    if target.exists():
        return target
    model = onnx.load(str(SHARED / "models" / f"{network.file}.onnx"))
    if model.opset_import[0].version < 13:  # the first with scales a channel
        model = onnx.version_converter.convert_version(model, 13)
    model.ir_version = max(model.ir_version, 7)
    graph = model.graph
    if graph.node[-1].op_type == "Softmax":
        softmax = graph.node.pop()
        graph.output[0].name = softmax.input[0]
    stored = {tensor.name for tensor in graph.initializer}
    kept = [value for value in graph.input if value.name not in stored]
    del graph.input[:], graph.value_info[:]
    graph.input.extend(kept)
    for value in (*graph.input, *graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.checker.check_model(model)
    onnx.save(model, str(target))
    return target
