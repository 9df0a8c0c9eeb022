"""Transformers as published exporters write them, with random weights: ONNX files for benchmarks/transformers.

Layers have the gains of trained ones. Factors of normalizations differ by channel, with a few channels ten times as large: the
outliers for which transformers are known. Seeds are fixed.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph that grows at its end; each method gives the name of what it adds."""

    def __init__(self, seed, opset=17):
        self.random, self.opset = np.random.default_rng(seed), opset
        self.nodes, self.constants, self.inputs, self.count = [], [], [], 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, value, dtype=np.float32):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def integers(self, *values):
        return self.constant(values, np.int64)

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def weights(self, *shape, fan_in, gain=1.0):
        return self.constant(self.random.standard_normal(shape) * gain / np.sqrt(fan_in))

    def bias(self, n, size=0.1):
        return self.constant(self.random.standard_normal(n) * size)

    def linear(self, x, k, n, gain=1.0, bias=True):
        y = self.op("MatMul", x, self.weights(k, n, fan_in=k, gain=gain))
        return self.op("Add", self.bias(n), y) if bias else y

    def conv(self, x, ic, oc, kernel, stride=1, groups=1, dims=2, gain=1.0, pad=None):
        w = self.weights(oc, ic // groups, *[kernel] * dims, fan_in=ic // groups * kernel**dims, gain=gain)
        pad = kernel // 2 if pad is None else pad
        return self.op("Conv", x, w, self.bias(oc), kernel_shape=[kernel] * dims, strides=[stride] * dims, group=groups,
                       pads=[pad] * (2 * dims))

    def factors(self, n):
        factors = np.exp(self.random.standard_normal(n) * 0.3)
        factors[self.random.choice(n, max(1, n // 96), replace=False)] *= 10
        return self.constant(factors)

    def layer_norm(self, x, n):
        if self.opset >= 17:
            return self.op("LayerNormalization", x, self.factors(n), self.bias(n), axis=-1, epsilon=1e-5)
        d = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", d, self.constant(2.0)), axes=[-1])
        root = self.op("Sqrt", self.op("Add", variance, self.constant(1e-5)))
        return self.op("Add", self.op("Mul", self.op("Div", d, root), self.factors(n)), self.bias(n))

    def rms_norm(self, x, n):
        power = self.op("ReduceMean", self.op("Pow", x, self.constant(2.0)), axes=[-1])
        inverse = self.op("Reciprocal", self.op("Sqrt", self.op("Add", power, self.constant(1e-5))))
        return self.op("Mul", self.factors(n), self.op("Mul", x, inverse))

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.constant(np.sqrt(2.0))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.constant(1.0))), self.constant(0.5))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.integers(*shape))

    def transpose(self, x, *order):
        return self.op("Transpose", x, perm=list(order))

    def scores(self, q, k_transposed, depth):
        return self.op("Mul", self.op("MatMul", q, k_transposed), self.constant(depth**-0.5))

    # As timm writes it: one product for query, key and value.
    def fused_attention(self, x, tokens, n, heads, batch=1, bias=None):
        depth = n // heads
        qkv = self.reshape(self.linear(x, n, 3 * n, gain=1.5), batch, tokens, 3, heads, depth)
        parts = self.op("Split", self.transpose(qkv, 2, 0, 3, 1, 4), self.integers(1, 1, 1), outputs=3, axis=0)
        q, k, v = (self.op("Squeeze", part, self.integers(0)) for part in parts)
        q = self.op("Mul", q, self.constant(depth**-0.5))
        scores = self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2))
        scores = bias(self, scores) if bias else scores
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        return self.linear(self.reshape(self.transpose(y, 0, 2, 1, 3), batch, tokens, n), n, n)

    # As transformers writes it: a product for each.
    def attention(self, x, tokens, n, heads, mask=None, turn=None):
        depth = n // heads
        q, k, v = (self.reshape(self.linear(x, n, n, gain=gain), 1, tokens, heads, depth) for gain in (1.5, 1.5, 1.0))
        q, v = (self.transpose(part, 0, 2, 1, 3) for part in (q, v))
        if turn:
            q, k = turn(q), turn(self.transpose(k, 0, 2, 1, 3))
            k = self.transpose(k, 0, 1, 3, 2)
        else:
            k = self.transpose(k, 0, 2, 3, 1)
        scores = self.scores(q, k, depth)
        scores = self.op("Add", scores, mask) if mask else scores
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        return self.linear(self.reshape(self.transpose(y, 0, 2, 1, 3), 1, tokens, n), n, n)

    def block(self, x, n, attention, hidden=4):
        x = self.op("Add", x, attention(self.layer_norm(x, n)))
        y = self.gelu(self.linear(self.layer_norm(x, n), n, hidden * n))
        return self.op("Add", x, self.linear(y, hidden * n, n))

    def save(self, path, y):
        result = helper.make_tensor_value_info(y, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "network", self.inputs, [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def vision(fused, opset):
    def make(path):
        net, n, tokens = Net(1 if fused else 2, opset), 192, 197
        x = net.conv(net.input("x", [1, 3, 224, 224]), 3, n, 16, stride=16, pad=0)
        x = net.transpose(net.reshape(x, 1, n, tokens - 1), 0, 2, 1)
        x = net.op("Concat", net.constant(net.random.standard_normal((1, 1, n)) * 0.5), x, axis=1)
        x = net.op("Add", x, net.constant(net.random.standard_normal((1, tokens, n)) * 0.3))
        for _ in range(12):
            kind = net.fused_attention if fused else net.attention
            x = net.block(x, n, lambda y, kind=kind: kind(y, tokens, n, 3))
        first = net.op("Gather", net.layer_norm(x, n), net.constant(0, np.int64), axis=1)
        net.save(path, net.linear(first, n, 1000))
    return make


def mobilevit(path):
    net = Net(3)

    def silu_conv(x, *args, **options):
        return net.silu(net.conv(x, *args, **options, gain=1.4))

    def inverted(x, ic, oc, stride):
        y = silu_conv(silu_conv(x, ic, 2 * ic, 1), 2 * ic, 2 * ic, 3, stride=stride, groups=2 * ic)
        y = net.conv(y, 2 * ic, oc, 1)
        return net.op("Add", x, y) if stride == 1 and ic == oc else y

    def mobile_block(x, c, n, side, depth):
        y = net.conv(silu_conv(x, c, c, 3), c, n, 1)
        half = side // 2  # patches of 2 x 2: a sequence for each place within them
        y = net.transpose(net.reshape(y, n * half, 2, half, 2), 0, 2, 1, 3)
        y = net.transpose(net.reshape(y, 1, n, half * half, 4), 0, 3, 2, 1)
        y = net.reshape(y, 4, half * half, n)
        for _ in range(depth):
            z = net.fused_attention(net.layer_norm(y, n), half * half, n, 4, batch=4)
            y = net.op("Add", y, z)
            z = net.silu(net.linear(net.layer_norm(y, n), n, 2 * n))
            y = net.op("Add", y, net.linear(z, 2 * n, n))
        y = net.transpose(net.reshape(net.layer_norm(y, n), 1, 4, half * half, n), 0, 3, 2, 1)
        y = net.transpose(net.reshape(y, n * half, half, 2, 2), 0, 2, 1, 3)
        y = silu_conv(net.reshape(y, 1, n, side, side), n, c, 1)
        return silu_conv(net.op("Concat", x, y, axis=1), 2 * c, c, 3)

    x = silu_conv(net.input("x", [1, 3, 256, 256]), 3, 16, 3, stride=2)
    x = inverted(x, 16, 16, 1)
    x = inverted(inverted(inverted(x, 16, 24, 2), 24, 24, 1), 24, 24, 1)
    x = mobile_block(inverted(x, 24, 48, 2), 48, 64, 32, 2)
    x = mobile_block(inverted(x, 48, 64, 2), 64, 80, 16, 4)
    x = mobile_block(inverted(x, 64, 80, 2), 80, 96, 8, 3)
    x = net.op("GlobalAveragePool", silu_conv(x, 80, 320, 1))
    net.save(path, net.linear(net.reshape(x, 1, 320), 320, 1000))


def swin(path):
    net, window = Net(4), 7
    n, side = 96, 56
    x = net.conv(net.input("x", [1, 3, 224, 224]), 3, n, 4, stride=4, pad=0)
    x = net.layer_norm(net.transpose(x, 0, 2, 3, 1), n)

    def roll(x, by, size):
        for axis in (1, 2):
            cut = by % size
            parts = [net.op("Slice", x, net.integers(a), net.integers(b), net.integers(axis)) for a, b in ((cut, size), (0, cut))]
            x = net.op("Concat", *parts, axis=axis)
        return x

    def shifted_mask(side):
        places = np.zeros((side, side))
        cuts = (slice(0, -window), slice(-window, -(window // 2)), slice(-(window // 2), None))
        for i, (rows, columns) in enumerate((r, c) for r in cuts for c in cuts):
            places[rows, columns] = i
        rows = places.reshape(side // window, window, side // window, window).transpose(0, 2, 1, 3).reshape(-1, window**2)
        return np.where(rows[:, None] != rows[:, :, None], -100.0, 0.0)

    for stage, depth in enumerate((2, 2, 6, 2)):
        heads, tokens, windows = 3 * 2**stage, window**2, (side // window) ** 2
        for layer in range(depth):
            shift = window // 2 if layer % 2 and side > window else 0

            def bias(net, scores):
                scores = net.op("Add", scores, net.constant(net.random.standard_normal((1, heads, tokens, tokens)) * 0.5))
                if shift:
                    scores = net.op("Add", scores, net.constant(shifted_mask(side)[:, None]))
                return scores

            y = net.layer_norm(x, n)
            y = roll(y, shift, side) if shift else y
            y = net.reshape(y, side // window, window, side // window, window, n)
            y = net.reshape(net.transpose(y, 0, 2, 1, 3, 4), windows, tokens, n)
            y = net.fused_attention(y, tokens, n, heads, batch=windows, bias=bias)
            y = net.transpose(net.reshape(y, side // window, side // window, window, window, n), 0, 2, 1, 3, 4)
            y = net.reshape(y, 1, side, side, n)
            y = roll(y, -shift, side) if shift else y
            x = net.op("Add", x, y)
            y = net.gelu(net.linear(net.layer_norm(x, n), n, 4 * n))
            x = net.op("Add", x, net.linear(y, 4 * n, n))
        if stage < 3:
            y = net.transpose(net.reshape(x, 1, side // 2, 2, side // 2, 2, n), 0, 1, 3, 4, 2, 5)
            y = net.layer_norm(net.reshape(y, 1, side // 2, side // 2, 4 * n), 4 * n)
            x, n, side = net.linear(y, 4 * n, 2 * n, bias=False), 2 * n, side // 2
    x = net.op("ReduceMean", net.layer_norm(x, n), axes=[1, 2], keepdims=0)
    net.save(path, net.linear(x, n, 1000))


def efficientformer(path):
    """EfficientFormer-L1: pools in place of attention but in the last block, a factor a channel on each branch."""
    net = Net(10)

    def scaled(x, n, *shape):
        return net.op("Mul", x, net.constant(np.exp(net.random.standard_normal(n) * 0.5).reshape(n, *shape) * 0.4))

    def pooled_block(x, n):
        y = net.op("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, count_include_pad=0)
        x = net.op("Add", x, scaled(net.op("Sub", y, x), n, 1, 1))
        y = net.conv(net.gelu(net.conv(x, n, 4 * n, 1, gain=1.4)), 4 * n, n, 1)
        return net.op("Add", x, scaled(y, n, 1, 1))

    def attention(x, tokens, n, heads=8, key=32, value=128):
        qkv = net.reshape(net.linear(x, n, heads * (2 * key + value), gain=1.5), 1, tokens, heads, 2 * key + value)
        q, k, v = net.op("Split", net.transpose(qkv, 0, 2, 1, 3), net.integers(key, key, value), outputs=3, axis=3)
        scores = net.scores(q, net.transpose(k, 0, 1, 3, 2), key)
        scores = net.op("Add", scores, net.constant(net.random.standard_normal((1, heads, tokens, tokens)) * 0.5))
        y = net.transpose(net.op("MatMul", net.op("Softmax", scores, axis=-1), v), 0, 2, 1, 3)
        return net.linear(net.reshape(y, 1, tokens, heads * value), heads * value, n)

    x = net.op("Relu", net.conv(net.input("x", [1, 3, 224, 224]), 3, 24, 3, stride=2, gain=1.4))
    x = net.op("Relu", net.conv(x, 24, 48, 3, stride=2, gain=1.4))
    n = 48
    for depth, wider in ((3, 96), (2, 224), (6, 448), (3, 0)):
        for _ in range(depth):
            x = pooled_block(x, n)
        if wider:
            x, n = net.conv(x, n, wider, 3, stride=2), wider
    x = net.transpose(net.reshape(x, 1, n, 49), 0, 2, 1)
    x = net.op("Add", x, scaled(attention(net.layer_norm(x, n), 49, n), n))
    y = net.linear(net.gelu(net.linear(net.layer_norm(x, n), n, 4 * n)), 4 * n, n)
    x = net.layer_norm(net.op("Add", x, scaled(y, n)), n)
    x = net.op("ReduceMean", x, axes=[1], keepdims=0)
    net.save(path, net.op("Div", net.op("Add", net.linear(x, n, 1000), net.linear(x, n, 1000)), net.constant(2.0)))


def whisper(path):
    net, n, frames = Net(5), 384, 3000
    x = net.gelu(net.conv(net.input("x", [1, 80, frames]), 80, n, 3, dims=1, gain=1.4))
    x = net.gelu(net.conv(x, n, n, 3, stride=2, dims=1, gain=1.4))
    x = net.op("Add", net.transpose(x, 0, 2, 1), net.constant(np.sin(np.outer(np.arange(frames // 2), 1e-4 ** np.linspace(0, 1, n)))[None]))
    for _ in range(4):
        x = net.block(x, n, lambda y: net.attention(y, frames // 2, n, 6))
    net.save(path, net.layer_norm(x, n))


def bert(path):
    net, n, tokens = Net(6, 14), 128, 128
    ids, present = net.input("ids", [1, tokens], TensorProto.INT64), net.input("mask", [1, tokens], TensorProto.INT64)
    absent = net.op("Sub", net.constant(1.0), net.op("Cast", net.reshape(present, 1, 1, 1, tokens), to=TensorProto.FLOAT))
    mask = net.op("Mul", absent, net.constant(-10000.0))
    x = net.op("Gather", net.constant(net.random.standard_normal((3000, n)) * 0.3), ids)
    x = net.layer_norm(net.op("Add", x, net.constant(net.random.standard_normal((1, tokens, n)) * 0.3)), n)
    for _ in range(2):
        x = net.layer_norm(net.op("Add", x, net.attention(x, tokens, n, 2, mask=mask)), n)
        y = net.linear(net.gelu(net.linear(x, n, 4 * n)), 4 * n, n)
        x = net.layer_norm(net.op("Add", x, y), n)
    first = net.op("Gather", x, net.constant(0, np.int64), axis=1)
    net.save(path, net.linear(net.op("Tanh", net.linear(first, n, n)), n, 4))


def stories(path):
    """A decoder of the size and kind of those trained on TinyStories, without a cache: rotary positions, gated layers."""
    net, n, tokens, heads = Net(7, 14), 288, 128, 6
    depth = n // heads
    angles = np.outer(np.arange(tokens), 1e4 ** -(np.arange(depth // 2) / (depth // 2)))
    cos, sin = (net.constant(np.concatenate([f(angles)] * 2, -1)) for f in (np.cos, np.sin))
    mask = net.constant(np.triu(np.full((tokens, tokens), -1e9), 1))

    def turn(x):
        low, high = net.op("Split", x, net.integers(depth // 2, depth // 2), outputs=2, axis=-1)
        turned = net.op("Concat", net.op("Neg", high), low, axis=-1)
        return net.op("Add", net.op("Mul", x, cos), net.op("Mul", turned, sin))

    x = net.op("Gather", net.constant(net.random.standard_normal((4096, n)) * 0.5), net.input("ids", [1, tokens], TensorProto.INT64))
    for _ in range(6):
        x = net.op("Add", x, net.attention(net.rms_norm(x, n), tokens, n, heads, mask=mask, turn=turn))
        y = net.rms_norm(x, n)
        y = net.op("Mul", net.silu(net.linear(y, n, 768, bias=False)), net.linear(y, n, 768, bias=False))
        x = net.op("Add", x, net.linear(y, 768, n, bias=False))
    net.save(path, net.linear(net.rms_norm(x, n), n, 4096, bias=False))


def yolo(path):
    """YOLO11n's block with attention, on its map of 20 x 20."""
    net, c, side, heads, key = Net(8), 128, 20, 2, 32

    def silu_conv(x, *args, **options):
        return net.silu(net.conv(x, *args, **options, gain=1.4))

    x = silu_conv(net.input("x", [1, 256, side, side]), 256, 2 * c, 1)
    a, b = net.op("Split", x, net.integers(c, c), outputs=2, axis=1)
    qkv = net.reshape(net.conv(b, c, 2 * c, 1, gain=1.5), 1, heads, 2 * key + c // heads, side * side)
    q, k, v = net.op("Split", qkv, net.integers(key, key, c // heads), outputs=3, axis=2)
    scores = net.scores(net.transpose(q, 0, 1, 3, 2), k, key)
    y = net.op("MatMul", v, net.transpose(net.op("Softmax", scores, axis=-1), 0, 1, 3, 2))
    y = net.op("Add", net.reshape(y, 1, c, side, side), net.conv(net.reshape(v, 1, c, side, side), c, c, 3, groups=c))
    b = net.op("Add", b, net.conv(y, c, c, 1))
    b = net.op("Add", b, net.conv(silu_conv(b, c, 2 * c, 1), 2 * c, c, 1))
    net.save(path, silu_conv(net.op("Concat", a, b, axis=1), 2 * c, 256, 1))


def speech(path):
    """wav2vec's front: convolutions over samples with a GroupNorm by channels, then two layers of attention."""
    net, n, steps = Net(9), 128, 16000
    x = net.conv(net.input("x", [1, 1, steps]), 1, n, 10, stride=5, dims=1, pad=0)
    x = net.gelu(net.op("InstanceNormalization", x, net.factors(n), net.bias(n)))
    length = (steps - 10) // 5 + 1
    for kernel in (3, 3, 3, 3, 2, 2):
        x = net.gelu(net.conv(x, n, n, kernel, stride=2, dims=1, pad=0, gain=1.4))
        length = (length - kernel) // 2 + 1
    x = net.linear(net.layer_norm(net.transpose(x, 0, 2, 1), n), n, n)
    for _ in range(2):
        x = net.block(x, n, lambda y: net.attention(y, length, n, 4))
    net.save(path, net.linear(x, n, 32))


NETWORKS = {"vit_tiny": vision(False, 14), "deit_tiny": vision(True, 17), "mobilevit_xxs": mobilevit,
            "efficientformer_l1": efficientformer, "swin_tiny": swin, "whisper_tiny_encoder": whisper, "bert_tiny": bert,
            "stories": stories, "yolo11n_attention": yolo, "speech": speech}
