"""Small networks from random blocks, as exporters write them: the same for a seed each time."""
import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FUNCTIONS = ("relu", "relu6", "silu", "hard swish", "hard swish of steps", "gelu", "gelu of tanh", "Elu", "Celu", "Selu", "LeakyRelu",
             "PRelu", "mish", "Sigmoid", "HardSigmoid", "Tanh", "Softplus", "ThresholdedRelu", "none")
NORMS = ("batch", "batch", "batch", "factor and summand", "factor", "layer", "root mean square", "instance", "group", "none", "none")
HEADS = ("map", "map", "dense", "dense of means", "means", "Softmax", "L2", "Sigmoid of a map", "Tanh of a map", "boxes and scores", "two",
         "as it is")


class Network:
    """`channels` and `sides` are those of `last`, which is [1, channels, *sides]."""

    def __init__(self, seed):
        self.random, self.values = random.Random(seed), numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []
        self.rank = self.random.choice((2, 2, 2, 1))  # places have so many axes
        self.channels = self.random.choice((3, 3, 1, 8))
        self.sides = [self.random.choice((16, 20, 24))] * 2 if self.rank == 2 else [self.random.choice((48, 64))]
        self.spread = self.random.choice((0, 0.3, 0.3, 0.6))  # decades between channels, on each side
        self.shape, self.last = [1, self.channels, *self.sides], "x"
        kinds = ("block_", "wide_") if seed >= 10000 else ("block_",)
        blocks = [getattr(self, name) for name in dir(self) if name.startswith(kinds)]
        for _ in range(self.random.randint(2, 5)):
            self.random.choice(blocks)()
        self.outputs = self.head(self.random.choice(HEADS))
        self.inputs_are = self.random.choice(("noise", "pixels", "channels apart"))

    # ---- nodes
    def constant(self, values, dtype=numpy.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(values, dtype), name))
        return name

    def op(self, kind, inputs, outputs=1, **attributes):
        """Operands that are no names become constants: integers in lists of them, else reals."""
        inputs = [i if isinstance(i, str) else self.constant(i, numpy.int64 if isinstance(i, list) else numpy.float32) for i in inputs]
        made = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, name=f"{kind}_{len(self.nodes)}", **attributes))
        return made[0] if outputs == 1 else made

    def reals(self, *shape):
        return self.values.standard_normal(shape)

    def positive(self, n):
        return numpy.abs(self.reals(n)) + 0.2

    def each(self, values):
        """One number a channel, as an operand beside [1, channels, *sides]."""
        return numpy.reshape(values, (-1, *[1] * self.rank))

    # ---- parts of blocks: from a value to a value of the same shape, but for convolve()
    def convolve(self, x, channels, kernel=3, group=1, stride=1, dilation=1):
        inputs, self.channels = self.channels, channels
        weights = self.reals(channels, inputs // group, *[kernel] * self.rank) * 1.4 / (inputs // group * kernel**self.rank) ** 0.5
        if self.random.random() < 0.5:
            weights *= (10 ** (self.values.uniform(-1, 1, channels) * self.spread)).reshape(-1, *[1] * (self.rank + 1))
        self.sides = [(side + stride - 1) // stride for side in self.sides]
        bias = [self.reals(channels) * 0.1] if self.random.random() < 0.6 else []
        return self.op("Conv", [x, weights, *bias], pads=[dilation * (kernel // 2)] * 2 * self.rank, strides=[stride] * self.rank,
                       group=group, dilations=[dilation] * self.rank)

    def function(self, x, kind=None):
        kind = kind or self.random.choice(FUNCTIONS)
        reals = numpy.float32
        steps = {
            "none": lambda: x, "relu": lambda: self.op("Relu", [x]), "relu6": lambda: self.op("Clip", [x, reals(0), reals(6)]),
            "silu": lambda: self.op("Mul", [x, self.op("Sigmoid", [x])]), "hard swish": lambda: self.op("HardSwish", [x]),
            "hard swish of steps": lambda: self.op("Mul", [x, self.op("Div", [self.op(
                "Clip", [self.op("Add", [x, reals(3)]), reals(0), reals(6)]), reals(6)])]),
            "gelu": lambda: self.op("Mul", [self.op("Mul", [x, self.op("Add", [self.op(
                "Erf", [self.op("Div", [x, reals(2**0.5)])]), reals(1)])]), reals(0.5)]),
            "gelu of tanh": lambda: self.op("Mul", [self.op("Mul", [x, reals(0.5)]), self.op("Add", [self.op("Tanh", [self.op("Mul", [
                self.op("Add", [x, self.op("Mul", [self.op("Pow", [x, reals(3)]), reals(0.044715)])]), reals(0.79788456)])]), reals(1)])]),
            "mish": lambda: self.op("Mul", [x, self.op("Tanh", [self.op("Softplus", [x])])]),
            "PRelu": lambda: self.op("PRelu", [x, self.each(self.reals(self.channels) * 0.3)]),
            "LeakyRelu": lambda: self.op("LeakyRelu", [x], alpha=0.1),
            "HardSigmoid": lambda: self.op("HardSigmoid", [x], alpha=1 / 6),
            "ThresholdedRelu": lambda: self.op("ThresholdedRelu", [x], alpha=0.5),
        }
        return steps[kind]() if kind in steps else self.op(kind, [x])

    def norm(self, x, kind=None):
        kind, c = kind or self.random.choice(NORMS), self.channels
        factors, summands, eps = self.positive(c), self.reals(c) * 0.3, numpy.float32(1e-5)
        if kind == "batch":
            return self.op("BatchNormalization", [x, factors, summands, self.reals(c) * 0.3, self.positive(c)])
        if kind == "factor":
            return self.op("Mul", [x, self.each(factors)])
        if kind == "instance":
            return self.op("InstanceNormalization", [x, factors, summands])
        if kind == "group":
            groups = 2 if c % 2 == 0 else 1
            x = self.op("Reshape", [x, [0, groups, -1]])
            x = self.op("InstanceNormalization", [x, numpy.ones(groups), numpy.zeros(groups)])
            x = self.op("Reshape", [x, [1, c, *self.sides]])
        if kind in ("group", "factor and summand"):
            return self.op("Add", [self.op("Mul", [x, self.each(factors)]), self.each(summands)])
        if kind in ("layer", "root mean square"):
            x = self.op("Transpose", [x], perm=[0, *range(2, 2 + self.rank), 1])
            if kind == "layer":
                x = self.op("Sub", [x, self.op("ReduceMean", [x], axes=[-1])])
            squares = self.op("Pow", [x, numpy.float32(2)]) if kind == "layer" else self.op("Mul", [x, x])
            x = self.op("Div", [x, self.op("Sqrt", [self.op("Add", [self.op("ReduceMean", [squares], axes=[-1]), eps])])])
            x = self.op("Mul", [x, factors])
            if kind == "layer":
                x = self.op("Add", [x, summands])
            return self.op("Transpose", [x], perm=[0, self.rank + 1, *range(1, self.rank + 1)])
        return x

    def beside(self):
        """A value of the shape of `last`, by a layer."""
        return self.convolve(self.last, self.channels, 1)

    # ---- blocks: `last` and its shape change
    def layer(self, **how):
        channels = how.pop("channels", None) or self.random.choice((8, 12, 16, 24))
        self.last = self.function(self.norm(self.convolve(self.last, channels, **how)))

    def block_layer(self):
        self.layer(kernel=self.random.choice((1, 3, 5)))

    def block_smaller(self):
        self.layer(stride=2)

    def block_dilated(self):
        self.layer(dilation=2)

    def block_groups(self):
        groups = self.random.choice((2, 4))
        self.layer(channels=self.channels, group=groups if self.channels % groups == 0 else 1)

    def block_depthwise(self):
        self.layer(channels=self.channels * self.random.choice((1, 1, 2)), group=self.channels, kernel=self.random.choice((3, 5)))
        self.layer(kernel=1)

    def block_inverted(self):
        start, c = self.last, self.channels
        x = self.function(self.norm(self.convolve(start, 2 * c, 1), "batch"), "relu6")
        x = self.function(self.norm(self.convolve(x, 2 * c, group=2 * c), "batch"), "relu6")
        self.last = self.op("Add", [start, self.norm(self.convolve(x, c, 1), "batch")])

    def block_residual(self):
        x = self.function(self.norm(self.convolve(self.last, self.channels)), "relu")
        x = self.norm(self.convolve(x, self.channels))
        self.last = self.function(self.op("Add", [x, self.last]), self.random.choice(("relu", "none", "silu")))

    def block_convnext(self):
        start, c = self.last, self.channels
        x = self.norm(self.convolve(start, c, 5, group=c), "layer")
        x = self.convolve(self.function(self.convolve(x, 2 * c, 1), "gelu"), c, 1)
        self.last = self.op("Add", [start, self.op("Mul", [x, self.each(self.positive(c) * 0.3)])])

    def block_excitation(self):
        start, c, sides = self.last, self.channels, self.sides
        self.sides = [1] * self.rank
        x = self.function(self.convolve(self.op("GlobalAveragePool", [start]), max(4, c // 2), 1), "relu")
        x = self.function(self.convolve(x, c, 1), self.random.choice(("Sigmoid", "HardSigmoid")))
        self.sides, self.last = sides, self.op("Mul", [start, x])

    def block_gate(self):
        self.last = self.op("Mul", [self.last, self.function(self.beside(), self.random.choice(("Sigmoid", "Tanh")))])

    def block_two(self):
        self.last = self.op(self.random.choice(("Add", "Sub", "Mul", "Max", "Min")), [self.last, self.beside()])

    def block_quotient(self):
        self.last = self.op("Div", [self.last, self.op("Add", [self.op("Abs", [self.beside()]), numpy.float32(0.5)])])

    def block_joined(self):
        c, start = self.channels, self.last
        x = self.function(self.norm(self.convolve(start, 8)))
        self.channels, self.last = c + 8, self.op("Concat", [start, x], axis=1)

    def block_halves(self):
        if (c := self.channels) % 2 == 0:
            a, b = self.op("Split", [self.last, [c // 2, c // 2]], 2, axis=1)
            self.channels = c // 2
            a = self.function(self.norm(self.convolve(a, c // 2)))
            self.channels, self.last = c, self.op("Concat", [a, b], axis=1)

    def block_shuffle(self):
        if (c := self.channels) % 2 == 0:
            x = self.op("Reshape", [self.last, [1, 2, c // 2, *self.sides]])
            x = self.op("Transpose", [x], perm=[0, 2, 1, *range(3, 3 + self.rank)])
            self.last = self.op("Reshape", [x, [1, c, *self.sides]])

    def block_pool(self):
        kind = self.random.choice(("MaxPool", "AveragePool"))
        if min(self.sides) >= 8 and self.random.random() < 0.5:
            self.sides = [side // 2 for side in self.sides]
            self.last = self.op(kind, [self.last], kernel_shape=[2] * self.rank, strides=[2] * self.rank)
        else:
            self.last = self.op(kind, [self.last], kernel_shape=[3] * self.rank, pads=[1] * 2 * self.rank)

    def block_larger(self):
        if max(self.sides) <= 16:
            self.sides = [2 * side for side in self.sides]
            mode = self.random.choice(("nearest", "linear"))
            self.last = self.op("Resize", [self.last, "", numpy.array([1, 1] + [2] * self.rank, numpy.float32)], mode=mode,
                                coordinate_transformation_mode="half_pixel" if mode == "linear" else "asymmetric", nearest_mode="floor")

    def block_transposed(self):
        if max(self.sides) <= 16:
            weights, self.channels = self.reals(self.channels, 8, *[2] * self.rank) * 1.4 / self.channels**0.5, 8
            self.sides = [2 * side for side in self.sides]
            self.last = self.function(self.norm(self.op("ConvTranspose", [self.last, weights], strides=[2] * self.rank)))

    def block_attention(self):
        c, n = self.channels, int(numpy.prod(self.sides))
        if n > 300:
            return
        tokens = self.op("Transpose", [self.op("Reshape", [self.last, [1, c, n]])], perm=[0, 2, 1])
        dense = lambda x: self.op("Add", [self.op("MatMul", [x, self.reals(c, c) / c**0.5]), self.reals(c) * 0.1])
        query, key, value = dense(tokens), dense(tokens), dense(tokens)
        scores = self.op("Mul", [self.op("MatMul", [query, self.op("Transpose", [key], perm=[0, 2, 1])]),
                                 numpy.float32(self.random.choice((0.06, 1, 3)) / c**0.5)])
        x = self.op("Add", [tokens, dense(self.op("MatMul", [self.op("Softmax", [scores], axis=-1), value]))])
        self.last = self.op("Reshape", [self.op("Transpose", [x], perm=[0, 2, 1]), [1, c, *self.sides]])

    def block_unit_length(self):
        if self.last != "x":
            self.last = self.op("LpNormalization", [self.last], axis=1, p=2)

    def block_padded(self):
        value = numpy.float32(self.random.choice((0, -1, 0.5, 3)))
        self.sides = [side + 2 for side in self.sides]
        self.last = self.op("Pad", [self.last, [0, 0, *[1] * self.rank] * 2, value])

    def block_cut(self):
        if min(self.sides) > 6:
            self.last = self.op("Slice", [self.last, [1] * self.rank, [side - 1 for side in self.sides], list(range(2, 2 + self.rank))])
            self.sides = [side - 2 for side in self.sides]

    def block_place_constants(self):
        self.last = self.op("Add", [self.last, self.reals(1, self.channels, *self.sides) * 0.3])

    def block_less_mean(self):
        self.last = self.op("Sub", [self.last, self.op("ReduceMean", [self.last], axes=list(range(2, 2 + self.rank)))])

    def block_to_depth(self):
        if self.rank == 2 and all(side % 2 == 0 for side in self.sides) and self.channels <= 12:
            self.channels, self.sides = 4 * self.channels, [side // 2 for side in self.sides]
            self.last = self.op("SpaceToDepth", [self.last], blocksize=2)

    # ---- blocks of the seeds from 10,000 on
    def wide_camera(self):
        """Four shifted quarters joined, as Focus writes them."""
        if self.rank == 2 and all(side % 2 == 0 for side in self.sides) and self.channels <= 12:
            parts = [self.op("Slice", [self.last, [a, b], [9999, 9999], [2, 3], [2, 2]]) for b in (0, 1) for a in (0, 1)]
            self.channels, self.sides = 4 * self.channels, [side // 2 for side in self.sides]
            self.last = self.op("Concat", parts, axis=1)
            self.layer()

    def wide_every_other(self):
        if self.channels % 2 == 0:
            a = self.op("Slice", [self.last, [0], [9999], [1], [2]])
            b = self.op("Slice", [self.last, [1], [9999], [1], [2]])
            self.last = self.op("Concat", [b, a], axis=1)

    def wide_to_space(self):
        if self.rank == 2 and max(self.sides) <= 16:
            x, self.channels = self.convolve(self.last, 32), 8
            if self.random.random() < 0.5:
                x = self.op("DepthToSpace", [x], blocksize=2, mode=self.random.choice(("DCR", "CRD")))
            else:
                h, w = self.sides
                x = self.op("Reshape", [x, [1, 8, 2, 2, h, w]])
                x = self.op("Reshape", [self.op("Transpose", [x], perm=[0, 1, 4, 2, 5, 3]), [1, 8, 2 * h, 2 * w]])
            self.sides = [2 * side for side in self.sides]
            self.last = self.function(self.norm(x))

    def wide_where(self):
        x = self.last
        kind = self.random.choice(("leaky", "threshold", "of two"))
        over = self.op("Greater", [x, numpy.float32(0.1 if kind == "threshold" else 0)])
        other = {"leaky": lambda: self.op("Mul", [x, numpy.float32(0.2)]), "threshold": lambda: self.constant(0.0), "of two": self.beside}[kind]()
        self.last = self.op("Where", [over, x, other])

    def wide_both_signs(self):
        x = self.convolve(self.last, 8)
        self.channels, self.last = 16, self.op("Relu", [self.op("Concat", [x, self.op("Neg", [x])], axis=1)])

    def wide_attention_of_places(self):
        """CBAM."""
        x = self.op("Concat", [self.op("ReduceMean", [self.last], axes=[1]), self.op("ReduceMax", [self.last], axes=[1])], axis=1)
        c, self.channels = self.channels, 2
        x = self.op("Sigmoid", [self.convolve(x, 1, 5)])
        self.channels, self.last = c, self.op("Mul", [self.last, x])

    def wide_attention_of_channels(self):
        """ECA: a convolution along the channels."""
        x = self.op("GlobalAveragePool", [self.last])
        x = self.op("Reshape", [x, [1, 1, self.channels]])
        x = self.op("Conv", [x, self.reals(1, 1, 3) * 0.8], pads=[1, 1])
        x = self.op("Reshape", [self.op("Sigmoid", [x]), [1, self.channels, *[1] * self.rank]])
        self.last = self.op("Mul", [self.last, x])

    def wide_by_hand(self):
        """A norm over the places with the second moment less the square of the first."""
        axes, x = list(range(2, 2 + self.rank)), self.last
        mean = self.op("ReduceMean", [x], axes=axes)
        if self.random.random() < 0.5:
            power = self.op("Sub", [self.op("ReduceMean", [self.op("Mul", [x, x])], axes=axes), self.op("Mul", [mean, mean])])
        else:
            d = self.op("Sub", [x, mean])
            power = self.op("ReduceMean", [self.op("Mul", [d, d])], axes=axes)
        x = self.op("Div", [self.op("Sub", [x, mean]), self.op("Sqrt", [self.op("Add", [power, numpy.float32(1e-3)])])])
        self.last = self.op("Add", [self.op("Mul", [x, self.each(self.positive(self.channels))]), self.each(self.reals(self.channels) * 0.2)])

    def wide_uneven_pads(self):
        x, k = self.convolve(self.last, 8, 1), self.random.choice((2, 4))
        weights = self.reals(12, 8, *[k] * self.rank) * 1.4 / (8 * k**self.rank) ** 0.5
        if self.random.random() < 0.5:
            x = self.op("Conv", [x, weights], auto_pad=self.random.choice(("SAME_UPPER", "SAME_LOWER")))
        else:
            x = self.op("Conv", [x, weights], pads=[k - 1] * self.rank + [0] * self.rank)
        self.channels = 12
        self.last = self.function(self.norm(x))

    def wide_one_axis(self):
        """1 x 5 and 5 x 1."""
        if self.rank == 2:
            for kernel, pads in (((1, 5), [0, 2, 0, 2]), ((5, 1), [2, 0, 2, 0])):
                weights = self.reals(12, self.channels, *kernel) * 1.4 / (5 * self.channels) ** 0.5
                self.last, self.channels = self.op("Conv", [self.last, weights, self.reals(12) * 0.1], pads=pads), 12
            self.last = self.function(self.norm(self.last))

    def wide_coordinates(self):
        ramps = numpy.stack(numpy.meshgrid(*[numpy.linspace(-1, 1, side) for side in self.sides], indexing="ij"))[None]
        self.last, self.channels = self.op("Concat", [self.last, ramps], axis=1), self.channels + self.rank
        self.layer()

    def wide_mixer(self):
        """A dense layer along the places, one along the channels."""
        c, n = self.channels, int(numpy.prod(self.sides))
        if n > 300:
            return
        x = self.op("Reshape", [self.last, [1, c, n]])
        y = self.op("MatMul", [self.function(self.op("MatMul", [x, self.reals(n, 24) / n**0.5]), "gelu"), self.reals(24, n) / 24**0.5])
        x = self.op("Transpose", [self.op("Add", [x, y])], perm=[0, 2, 1])
        y = self.function(self.op("Add", [self.op("MatMul", [x, self.reals(c, 2 * c) / c**0.5]), self.reals(2 * c) * 0.1]), "gelu")
        x = self.op("Add", [x, self.op("MatMul", [y, self.reals(2 * c, c) / (2 * c) ** 0.5])])
        self.last = self.op("Reshape", [self.op("Transpose", [x], perm=[0, 2, 1]), [1, c, *self.sides]])

    def wide_gated_linear(self):
        c = self.random.choice((8, 12))
        a, b = self.op("Split", [self.convolve(self.last, 2 * c), [c, c]], 2, axis=1)
        self.channels, self.last = c, self.op("Mul", [a, self.function(b, self.random.choice(("Sigmoid", "silu", "Tanh", "gelu")))])

    def wide_pyramid(self):
        """Smaller, larger again, added."""
        if self.rank == 2 and all(side % 2 == 0 for side in self.sides):
            start, c, sides = self.last, self.channels, self.sides
            x = self.function(self.norm(self.convolve(start, 12, stride=2)))
            x = self.convolve(x, c, 1)
            x = self.op("Resize", [x, "", "", [1, c, *sides]], mode=self.random.choice(("nearest", "linear")),
                        coordinate_transformation_mode=self.random.choice(("asymmetric", "half_pixel", "align_corners")), nearest_mode="floor")
            self.sides, self.last = sides, self.op("Add", [start, x])

    def wide_recurrent(self):
        if self.rank == 1 and self.sides[0] <= 64:
            x, n, h = self.op("Transpose", [self.last], perm=[2, 0, 1]), self.sides[0], 12
            kind = self.random.choice(("LSTM", "GRU"))
            gates = 4 if kind == "LSTM" else 3
            more = {"linear_before_reset": 1} if kind == "GRU" else {}
            y = self.op(kind, [x, self.reals(1, gates * h, self.channels) / self.channels**0.5, self.reals(1, gates * h, h) / h**0.5,
                               self.reals(1, 2 * gates * h) * 0.1], hidden_size=h, **more)
            self.channels, self.last = h, self.op("Transpose", [self.op("Squeeze", [y, [1]])], perm=[1, 2, 0])

    def wide_soft_weights(self):
        """Places weighted by a softmax over them."""
        c, n = self.channels, int(numpy.prod(self.sides))
        w = self.op("Softmax", [self.op("Reshape", [self.convolve(self.last, 1, 1), [1, 1, n]])], axis=2)
        self.channels = c
        x = self.op("MatMul", [self.op("Reshape", [self.last, [1, c, n]]), self.op("Transpose", [w], perm=[0, 2, 1])])
        self.last = self.op("Add", [self.last, self.op("Reshape", [x, [1, c, *[1] * self.rank]])])

    def wide_of_channels(self):
        self.last = self.op("Softmax", [self.beside()], axis=1)
        self.layer()

    def wide_powers(self):
        x = self.beside()
        kind = self.random.choice(("square", "root", "exponent", "logarithm", "inverse", "absolute", "sine"))
        one = numpy.float32(1)
        self.last = {"square": lambda: self.op("Mul", [x, x]), "root": lambda: self.op("Sqrt", [self.op("Abs", [x])]),
                     "exponent": lambda: self.op("Exp", [self.op("Clip", [x, numpy.float32(-4), one])]),
                     "logarithm": lambda: self.op("Log", [self.op("Add", [self.op("Exp", [x]), one])]),
                     "inverse": lambda: self.op("Sub", [one, self.op("Sigmoid", [x])]), "absolute": lambda: self.op("Abs", [x]),
                     "sine": lambda: self.op("Sin", [x])}[kind]()

    def wide_einsum(self):
        if self.rank == 2:
            equation = self.random.choice(("nchw,oc->nohw", "nchw,co->nohw", "nchw,cow->nohw"))
            c, w = self.channels, self.sides[1]
            shape = {"nchw,oc->nohw": (12, c), "nchw,co->nohw": (c, 12), "nchw,cow->nohw": (c, 12, w)}[equation]
            self.last, self.channels = self.op("Einsum", [self.last, self.reals(*shape) / c**0.5], equation=equation), 12
            self.last = self.function(self.norm(self.last))

    def wide_channels_last(self):
        """Dense layers along the last axis, as TensorFlow and JAX write 1 x 1."""
        c = self.channels
        x = self.op("Transpose", [self.last], perm=[0, *range(2, 2 + self.rank), 1])
        x = self.op("Add", [self.op("MatMul", [x, self.reals(c, 12) / c**0.5]), self.reals(12) * 0.1])
        self.channels = 12
        if self.random.random() < 0.5:
            x = self.op("Mul", [x, self.positive(12)])
        self.last = self.function(self.op("Transpose", [x], perm=[0, self.rank + 1, *range(1, self.rank + 1)]))

    def wide_windows(self):
        """Attention within windows of 4 x 4."""
        if self.rank != 2 or any(side % 4 for side in self.sides) or self.sides[0] > 24:
            return
        c, (h, w) = self.channels, self.sides
        x = self.op("Reshape", [self.op("Transpose", [self.last], perm=[0, 2, 3, 1]), [1, h // 4, 4, w // 4, 4, c]])
        x = self.op("Reshape", [self.op("Transpose", [x], perm=[0, 1, 3, 2, 4, 5]), [h * w // 16, 16, c]])
        qkv = self.op("Reshape", [self.op("MatMul", [x, self.reals(c, 3 * c) / c**0.5]), [h * w // 16, 16, 3, c]])
        q, k, v = (self.op("Squeeze", [self.op("Gather", [qkv, [i]], axis=2), [2]]) for i in range(3))
        s = self.op("Softmax", [self.op("Add", [self.op("MatMul", [q, self.op("Transpose", [k], perm=[0, 2, 1])]), self.reals(1, 16, 16)])], axis=-1)
        x = self.op("Reshape", [self.op("Add", [x, self.op("MatMul", [s, v])]), [1, h // 4, w // 4, 4, 4, c]])
        x = self.op("Reshape", [self.op("Transpose", [x], perm=[0, 1, 3, 2, 4, 5]), [1, h, w, c]])
        self.last = self.op("Transpose", [x], perm=[0, 3, 1, 2])

    def wide_pool_pyramid(self):
        """SPPF."""
        x = [self.function(self.norm(self.convolve(self.last, 8, 1)))]
        for _ in range(2):
            x.append(self.op("MaxPool", [x[-1]], kernel_shape=[5] * self.rank, pads=[2] * 2 * self.rank))
        self.channels, self.last = 24, self.op("Concat", x, axis=1)
        self.layer(kernel=1)

    def wide_standard_weights(self):
        """Weights that the graph makes from a constant."""
        c = self.channels
        w = self.constant(self.reals(12, c, *[3] * self.rank))
        axes = list(range(1, 2 + self.rank))
        d = self.op("Sub", [w, self.op("ReduceMean", [w], axes=axes)])
        w = self.op("Div", [d, self.op("Add", [self.op("Sqrt", [self.op("ReduceMean", [self.op("Mul", [d, d])], axes=axes)]), numpy.float32(1e-5)])])
        w = self.op("Mul", [w, numpy.float32(1 / (c * 3**self.rank) ** 0.5)])
        self.last, self.channels = self.op("Conv", [self.last, w], pads=[1] * 2 * self.rank), 12
        self.last = self.function(self.norm(self.last, "group"))

    def wide_rolled(self):
        a = self.op("Slice", [self.last, [3], [9999], [2]])
        b = self.op("Slice", [self.last, [0], [3], [2]])
        self.last = self.op("Concat", [a, b], axis=2)

    def wide_reflected(self):
        self.sides = [side + 2 for side in self.sides]
        self.last = self.op("Pad", [self.last, [0, 0, *[1] * self.rank] * 2], mode=self.random.choice(("reflect", "edge")))

    def wide_statistics(self):
        """Means and deviations joined to each place."""
        axes, x = list(range(2, 2 + self.rank)), self.last
        mean = self.op("ReduceMean", [x], axes=axes)
        d = self.op("Sub", [x, mean])
        std = self.op("Sqrt", [self.op("Add", [self.op("ReduceMean", [self.op("Pow", [d, numpy.float32(2)])], axes=axes), numpy.float32(1e-5)])])
        shape = [1, 2 * self.channels, *self.sides]
        self.last = self.op("Concat", [x, self.op("Expand", [self.op("Concat", [mean, std], axis=1), shape])], axis=1)
        self.channels *= 3
        self.layer(kernel=1)

    def wide_largest(self):
        self.last = self.op("Mul", [self.last, self.op("Sigmoid", [self.op("GlobalMaxPool", [self.last])])])

    def wide_lp(self):
        axes = [self.random.choice((1, 2))]
        self.last = self.op("Div", [self.last, self.op("Add", [self.op("ReduceL2", [self.last], axes=axes), numpy.float32(1e-3)])])

    def head(self, kind):
        c, x = self.channels, self.last
        if kind == "as it is":
            return [x]
        if kind == "two":
            return [self.beside(), self.convolve(x, 4, 1)]
        if kind == "boxes and scores":
            boxes, scores = self.op("Split", [self.convolve(x, 6, 1), [4, 2]], 2, axis=1)
            return [self.op("Concat", [self.op("Mul", [boxes, numpy.float32(20)]), self.op("Sigmoid", [scores])], axis=1)]
        if "map" in kind:
            x = self.convolve(x, 6, 1)
            return [x if kind == "map" else self.op(kind.split()[0], [x])]
        x = self.op("Flatten", [x if kind == "dense" else self.op("GlobalAveragePool", [x])])
        if kind == "means":
            return [x]
        inputs = c * int(numpy.prod(self.sides)) if kind == "dense" else c
        x = self.op("Gemm", [x, self.reals(16, inputs) * 1.4 / inputs**0.5, self.reals(16) * 0.1], transB=1)
        if kind == "Softmax":
            return [self.op("Softmax", [x], axis=1)]
        return [self.op("LpNormalization", [x], axis=1, p=2) if kind == "L2" else x]

    # ---- what is made of it
    def model(self):
        graph = helper.make_graph(self.nodes, "random", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs], self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(made)

    def samples(self, count):
        """[count, channels, *sides], other ones each time."""
        shape = (count, *self.shape[1:])
        if self.inputs_are == "noise":
            values = self.reals(*shape)
        elif self.inputs_are == "pixels":
            values = self.values.random(shape)
        else:
            values = self.reals(count, self.shape[1], *[1] * self.rank) * 0.7 + self.reals(*shape) * 0.5
        return values.astype(numpy.float32)
