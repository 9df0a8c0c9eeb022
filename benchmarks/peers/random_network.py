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
        blocks = [getattr(self, name) for name in dir(self) if name.startswith("block_")]
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
