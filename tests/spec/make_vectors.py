#!/usr/bin/env python3
"""Random cases and their results by arithmetic.py beside this file, for tests/spec_oracle*_test.cc.

    make_vectors.py FOLDER [--seed N]

Writes one file a function into FOLDER. All numbers are little-endian:

    "ITGV", u32 arrays in a case, u32 cases, then the cases' arrays one after another
    array: u32 element type (1 s8, 2 s32, 3 f32), u32 elements, the elements, zeros up to a multiple of 4 bytes

What a case's arrays are stands beside each write_* call here and beside its reader in the test.
"""
import argparse
import pathlib

import numpy as np

import arithmetic as spec

f32 = np.float32


def s8(a):
    a = np.asarray(a)
    assert a.size == 0 or (a.min() >= -128 and a.max() <= 127), "a code outside int8"
    return a.astype("<i1")


def s32(*values):
    a = np.asarray(values[0] if len(values) == 1 and np.ndim(values[0]) else values, np.int64)
    assert a.size == 0 or np.abs(a).max() <= 2**31 - 1, "a value outside int32"
    return a.astype("<i4")


def reals(*values):
    return np.asarray(values[0] if len(values) == 1 and np.ndim(values[0]) else values, "<f4")


TYPES = {"|i1": 1, "<i4": 2, "<f4": 3}


def write(folder, name, cases):
    arrays = len(cases[0])
    with open(folder / f"{name}.bin", "wb") as file:
        file.write(b"ITGV" + np.array([arrays, len(cases)], "<u4").tobytes())
        for case in cases:
            assert len(case) == arrays
            for array in case:
                data = array.tobytes()
                file.write(np.array([TYPES[array.dtype.str], array.size], "<u4").tobytes())
                file.write(data + bytes(-len(data) % 4))


class Maker:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def integer(self, lo, hi):
        return int(self.rng.integers(lo, hi + 1))

    def codes(self, *shape, lo=-128, hi=127):
        return self.rng.integers(lo, hi + 1, shape)

    def zero_point(self):
        return int(self.rng.choice([-128, 0, 127, self.integer(-128, 127)], p=[0.15, 0.15, 0.05, 0.65]))

    def clamp(self):
        if self.rng.random() < 0.5:
            return -128, 127
        lo = self.integer(-128, 126)
        return lo, self.integer(lo, 127)

    def scale(self, lo=-8.0, hi=2.0):
        """Now and then a power of two: ties."""
        e = self.rng.uniform(lo, hi)
        return f32(2.0 ** np.round(e)) if self.rng.random() < 0.25 else f32(2.0**e)

    def window(self, channels_limit=40):
        k = [self.integer(1, 4), self.integer(1, 4)]
        stride = [self.integer(1, 3), self.integer(1, 3)]
        dilation = [self.integer(1, 3), self.integer(1, 3)]
        extent = [(k[i] - 1) * dilation[i] + 1 for i in (0, 1)]
        pads = [self.integer(0, extent[i % 2] - 1) if self.rng.random() < 0.6 else 0 for i in range(4)]
        size = [max(1, extent[i] - pads[i] - pads[i + 2]) + self.integer(0, 8) for i in (0, 1)]
        return k, stride, dilation, pads, size

    # conv, fully connected: convolution followed, where it has a residual, by add
    #   s32 [n, h, w, ic, oc, kh, kw, stride h w, dilation h w, pad top left bottom right, groups,
    #        z_in, z_out, lo, hi, oh, ow, has_residual, z_mid, z_residual]
    #   f32 [s_in, s_out, s_mid, s_residual], f32 s_w, s8 x, s8 w, s32 bias, s8 residual, f32 multiplier, s8 output
    def conv(self, fully_connected=False):
        if fully_connected:
            k, stride, dilation, pads, size = [1, 1], [1, 1], [1, 1], [0, 0, 0, 0], [1, 1]
            n, groups, icg, ocg = self.integer(1, 9), 1, self.integer(1, 300), self.integer(1, 70)
        else:
            k, stride, dilation, pads, size = self.window()
            n = self.integer(1, 2)
            groups = self.integer(2, 4) if self.rng.random() < 0.3 else 1
            icg, ocg = self.integer(1, 40), self.integer(1, 40)
        ic, oc = icg * groups, ocg * groups
        z_in, z_out, (lo, hi) = self.zero_point(), self.zero_point(), self.clamp()
        extreme = self.rng.random() < 0.2
        x = self.rng.choice([-128, 127], (n, *size, ic)) if extreme else self.codes(n, *size, ic)
        w = self.rng.choice([-128, 127], (oc, *k, icg)) if extreme else self.codes(oc, *k, icg)
        bias = self.rng.integers(-(2**20), 2**20, oc) if self.rng.random() < 0.7 else np.zeros(oc, np.int64)
        acc = spec.conv_acc(x, z_in, w, bias, stride, dilation, pads, groups)
        s_in = self.scale()
        s_w = np.array([self.scale() for _ in range(oc)], f32)
        # So that most results are inside the codes' range.
        s_target = f32(float(s_in) * float(np.median(s_w)) * max(float(np.abs(acc).mean()), 1.0) / 50)
        s_mid, s_out = s_target, f32(s_target * f32(2.0 ** self.rng.uniform(-0.5, 1.5)))
        has_residual = not fully_connected and self.rng.random() < 0.3
        z_mid, z_residual, s_residual = self.zero_point(), self.zero_point(), self.scale()
        residual = np.zeros(0, np.int64)
        if has_residual:
            s_residual = f32(s_out * f32(2.0 ** self.rng.uniform(-3, 2)))
            m = spec.multiplier(s_in, s_w, s_mid)
            q = spec.requantize(acc, m, z_mid)
            residual = self.codes(*q.shape)
            params = spec.add_params(s_mid, s_residual, s_out)
            q = spec.add(q, z_mid, residual, z_residual, params, z_out, lo, hi)
        else:
            m = spec.multiplier(s_in, s_w, s_out)
            q = spec.requantize(acc, m, z_out, lo, hi)
        oh, ow = q.shape[1:3]
        return [s32(n, *size, ic, oc, *k, *stride, *dilation, *pads, groups, z_in, z_out, lo, hi, oh, ow,
                    int(has_residual), z_mid, z_residual),
                reals(s_in, s_out, s_mid, s_residual), reals(s_w), s8(x), s8(w), s32(bias), s8(residual), reals(m), s8(q),
                *self.leaving(acc, s_in, s_w)]

    # The same sums in FP32, clamped: f32 [lo, hi], f32 output
    def leaving(self, acc, s_in, s_w):
        y = spec.product_f32(acc, s_in, s_w)
        lo, hi = sorted(f32(v) for v in self.rng.choice(y.reshape(-1), 2))
        if self.rng.random() < 0.3:
            lo, hi = f32(-np.inf), f32(np.inf)
        return [reals([lo, hi]), reals(spec.product_f32(acc, s_in, s_w, lo, hi))]

    # depthwise: s32 [n, h, w, c, oc, kh, kw, stride h w, dilation h w, pads, z_in, z_out, lo, hi, oh, ow]
    #   f32 [s_in, s_out], f32 s_w, s8 x, s8 w, s32 bias, f32 multiplier, s8 output
    def depthwise(self):
        k, stride, dilation, pads, size = self.window()
        n, c = self.integer(1, 2), self.integer(1, 70)
        m = self.integer(2, 3) if self.rng.random() < 0.25 else 1
        oc = c * m
        z_in, z_out, (lo, hi) = self.zero_point(), self.zero_point(), self.clamp()
        x, w = self.codes(n, *size, c), self.codes(*k, oc)
        bias = self.rng.integers(-(2**16), 2**16, oc)
        acc = spec.depthwise_acc(x, z_in, w, bias, stride, dilation, pads)
        s_in = self.scale()
        s_w = np.array([self.scale() for _ in range(oc)], f32)
        s_out = f32(float(s_in) * float(np.median(s_w)) * max(float(np.abs(acc).mean()), 1.0) / 50)
        multiplier = spec.multiplier(s_in, s_w, s_out)
        q = spec.requantize(acc, multiplier, z_out, lo, hi)
        return [s32(n, *size, c, oc, *k, *stride, *dilation, *pads, z_in, z_out, lo, hi, *q.shape[1:3]),
                reals(s_in, s_out), reals(s_w), s8(x), s8(w), s32(bias), reals(multiplier), s8(q),
                *self.leaving(acc, s_in, s_w)]

    # avg_pool: s32 [n, h, w, c, kh, kw, stride h w, dilation h w, pads, count_include_pad, z_in, z_out, lo, hi, oh, ow]
    #   f32 [s_in, s_out], s8 x, s8 output
    def avg_pool(self):
        k, stride, dilation, pads, size = self.window()
        n, c = self.integer(1, 2), self.integer(1, 70)
        z_in, z_out, (lo, hi) = self.zero_point(), self.zero_point(), self.clamp()
        x = self.codes(n, *size, c)
        ones = np.ones((*k, c), np.int64)
        acc = spec.depthwise_acc(x, z_in, ones, 0, stride, dilation, pads)
        taps = spec.depthwise_acc(np.ones_like(x), 0, ones, 0, stride, dilation, pads)
        include = self.rng.random() < 0.5
        s_in = self.scale()
        s_out = f32(s_in * f32(2.0 ** self.rng.uniform(-1, 1)))
        q = np.zeros_like(acc)
        for i in np.ndindex(acc.shape):
            count = k[0] * k[1] if include else int(taps[i])
            # Without a tap: the real zero.
            q[i] = spec.mean(acc[i], count, s_in, s_out, z_out, lo, hi) if count else np.clip(z_out, lo, hi)
        return [s32(n, *size, c, *k, *stride, *dilation, *pads, int(include), z_in, z_out, lo, hi, *q.shape[1:3]),
                reals(s_in, s_out), s8(x), s8(q)]

    # mean: s32 [z_in, z_out, lo, hi], s32 shape, s32 axes, f32 [s_in, s_out], s8 x, s8 output
    def mean(self):
        rank = self.integer(1, 6)
        shape = [self.integer(1, 5) for _ in range(rank)]
        if self.rng.random() < 0.3:
            shape[-1] = self.integer(100, 300)
        axes = sorted(self.rng.choice(rank, self.integer(1, rank), replace=False).tolist())
        z_in, z_out, (lo, hi) = self.zero_point(), self.zero_point(), self.clamp()
        x = self.codes(*shape)
        n = int(np.prod([shape[a] for a in axes]))
        acc = (x.astype(np.int64) - z_in).sum(tuple(axes))
        s_in = self.scale()
        s_out = f32(s_in * f32(2.0 ** self.rng.uniform(-2, 1)))
        q = spec.mean(acc, n, s_in, s_out, z_out, lo, hi)
        return [s32(z_in, z_out, lo, hi), s32(np.array(shape)), s32(np.array(axes)), reals(s_in, s_out), s8(x), s8(q)]

    # add, sub, mul, div: s32 [z_a, z_b, z_out, lo, hi, bits], s32 shape of a, s32 shape of b, f32 [s_a, s_b, s_out], s8 a, s8 b,
    # s8 output
    def sub(self):
        return self.add(lambda params: (params[0], -params[1], params[2]))

    def mul(self):
        return self.add(product=spec.mul)

    def div(self):
        return self.add(product=spec.div)

    def add(self, change=lambda params: params, product=None):
        rank = self.integer(1, 4)
        shape = [self.integer(1, 9) for _ in range(rank)]
        shape[-1] = self.integer(1, 90)
        kind = self.integer(0, 2)
        b_shape = [shape, shape[self.integer(0, rank - 1):], [1]][kind]
        z_a, z_b, z_out, (lo, hi) = self.zero_point(), self.zero_point(), self.zero_point(), self.clamp()
        s_a = self.scale()
        s_b, s_out = f32(s_a * self.scale(-6, 6)), f32(s_a * self.scale(-4, 6))
        a, b = self.codes(*shape), self.codes(*b_shape)
        bits = self.integer(15, 21)
        if product:
            s_out = f32(s_a * s_b * self.scale(0, 8)) if product is spec.mul else f32(s_a / s_b * self.scale(-6, 2))
            q = product(a, s_a, z_a, b, s_b, z_b, s_out, z_out, lo, hi)
        else:
            q = spec.add(a, z_a, b, z_b, change(spec.add_params(s_a, s_b, s_out, bits)), z_out, lo, hi)
        return [s32(z_a, z_b, z_out, lo, hi, bits), s32(np.array(shape)), s32(np.array(b_shape)), reals(s_a, s_b, s_out),
                s8(a), s8(b), s8(q)]

    # add_params: f32 [s_a, s_b, s_out], s32 [bits], s32 [M_a, M_b, k], zeros where the specification refuses
    def add_params(self):
        wide = self.rng.random() < 0.5
        s_a, s_b, s_out = (self.scale(-40, 40) if wide else self.scale() for _ in range(3))
        if self.rng.random() < 0.1:  # at the largest ratio
            s_a = f32(s_out * f32(2.0**14) * f32(self.rng.uniform(0.99, 1.01)))
        bits = self.integer(15, 21)
        try:
            m_a, m_b, k = spec.add_params(s_a, s_b, s_out, bits)
        except AssertionError:
            m_a, m_b, k = 0, 0, 0
        return [reals(s_a, s_b, s_out), s32([bits]), s32(m_a, m_b, k)]

    # quantize: s32 [z, lo, hi], f32 [s], f32 x, s8 output
    def quantize(self):
        s, z, (lo, hi) = self.scale(-20, 20), self.zero_point(), self.clamp()
        x = (self.rng.uniform(-300, 300, 200) * float(s)).astype(f32)
        x[:40] = (self.rng.integers(-200, 200, 40) + 0.5).astype(f32) * s
        x[40:46] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45]
        return [s32(z, lo, hi), reals(s), reals(x), s8(spec.quantize(x, s, z, lo, hi))]

    # dequantize: s32 [z], f32 [s], s8 x, f32 output
    def dequantize(self):
        s, z = self.scale(-40, 40), self.zero_point()
        x = np.arange(-128, 128)
        return [s32(z), reals(s), s8(x), reals(spec.dequantize(x, s, z))]

    # lookup: s32 [z_in, z_out, function], f32 [s_in, s_out, parameter], s8 table, s8 x, s8 output
    # functions: 0 clamp to [0, parameter]; 1 exp(-|x|)
    def lookup(self):
        s_in, z_in, s_out, z_out = self.scale(), self.zero_point(), self.scale(), self.zero_point()
        function, parameter = self.integer(0, 1), float(f32(self.rng.uniform(0.5, 8)))
        apply = [lambda v: np.clip(v, 0.0, parameter), lambda v: np.exp(-np.abs(v))][function]
        table = spec.lookup_table(apply, s_in, z_in, s_out, z_out)
        x = self.codes(self.integer(1, 300))
        return [s32(z_in, z_out, function), reals(s_in, s_out, parameter), s8(table), s8(x), s8(table[x + 128])]

    def matrices(self, values):
        """Two operands of a product of activations: (a, b, whether b is transposed)."""
        m, k, n = self.integer(1, 20), self.integer(1, 90), self.integer(1, 70)
        batch = [self.integer(1, 3) for _ in range(self.integer(0, 2))]
        one = lambda: [1 if self.rng.random() < 0.3 else size for size in batch]
        transposed = self.rng.random() < 0.5
        return values(*one(), m, k), values(*one(), *([n, k] if transposed else [k, n])), transposed

    def factor(self):
        return f32(1) if self.rng.random() < 0.3 else f32(self.rng.uniform(0.05, 3))

    # batch_mat_mul: s32 [z_a, z_b, z_out, transpose_b], s32 shapes of a, b and y, f32 [s_a, s_b, s_out, scale], s8 a, b, y
    def batch_mat_mul(self):
        a, b, transposed = self.matrices(self.codes)
        z_a, z_b, z_out = self.zero_point(), self.zero_point(), self.zero_point()
        s_a, s_b, scale = self.scale(), self.scale(), self.factor()
        if self.rng.random() < 0.5:
            s_out = f32(s_a * s_b * scale * f32(a.shape[-1]) * self.scale(0, 6))
        else:  # a multiplier of 2^-n, which another order of its roundings misses: sums halfway between codes show it
            steps = f32(2.0 ** self.integer(6, 9))
            for _ in range(20):
                s_out = s_a * s_b * scale * steps
                if f32(s_a * s_b) * (scale / s_out) != f32(1) / steps:
                    break
                s_a, s_b, scale = self.scale(), self.scale(), self.factor()
        y = spec.batch_mat_mul(a, s_a, z_a, b, s_b, z_b, s_out, z_out, transposed, scale)
        return [s32(z_a, z_b, z_out, transposed), s32(*a.shape), s32(*b.shape), s32(*y.shape), reals(s_a, s_b, s_out, scale),
                s8(a), s8(b), s8(y)]

    # batch_mat_mul_f32: s32 [transpose_b], s32 shapes of a, b and y, f32 [scale], f32 a, b, y
    def batch_mat_mul_f32(self):
        a, b, transposed = self.matrices(lambda *shape: self.rng.standard_normal(shape).astype(f32))
        scale = self.factor()
        y = spec.batch_mat_mul_f32(a, b, transposed, scale)
        return [s32([transposed]), s32(*a.shape), s32(*b.shape), s32(*y.shape), reals([scale]), reals(a), reals(b), reals(y)]

    # softmax: s32 [z_in, z_out, rows, n], f32 [s_in, s_out], s32 table, s8 x, s8 output
    def softmax(self):
        rows, n = self.integer(1, 5), int(self.rng.choice([1, 2, 3, 10, 100, 1000, self.integer(1, 2000)]))
        s_in, fixed = self.scale(-8, -1), self.rng.random() < 0.6
        s_out, z_out = (f32(1 / 256), -128) if fixed else (self.scale(-9, -4), self.zero_point())
        table = spec.softmax_table(s_in, n)
        lo = self.integer(-128, 100)
        x = self.codes(rows, n, lo=lo, hi=self.integer(lo, 127))
        return [s32(self.zero_point(), z_out, rows, n), reals(s_in, s_out), s32(table), s8(x),
                s8(spec.softmax(x, table, s_out, z_out))]

    # l2_normalize: s32 [rows, n, z_in, z_out], f32 [s_in, s_out, epsilon], s8 x, s8 output
    def l2_normalize(self):
        rows, n, z_in, z_out = self.integer(1, 5), self.integer(1, 300), self.zero_point(), self.zero_point()
        x = self.codes(rows, n)
        if self.rng.random() < 0.3:
            x[0] = z_in  # a norm of zero
        s_in, s_out, epsilon = self.scale(), self.scale(-9, -4), f32(self.rng.choice([0.0, 1e-12, 0.5]))
        q = spec.l2_normalize(x, s_in, z_in, s_out, z_out, epsilon)
        return [s32(rows, n, z_in, z_out), reals(s_in, s_out, epsilon), s8(x), s8(q)]

    def normalized_shape(self):
        """A shape, how many groups its last axis has, and whether the places between are in them, too."""
        groups, over_map = self.integer(1, 4), self.rng.random() < 0.5
        depth = int(self.rng.choice([1, 3, 16, self.integer(1, 200)]))
        places = [self.integer(1, 9) for _ in range(self.integer(0, 2))]
        return [self.integer(1, 3), *places, groups * depth], groups, over_map

    def epsilons(self, under_roots):
        return f32(self.rng.choice(under_roots)), f32(self.rng.choice([0.0, 0.0, 1e-5, 0.5]))

    # normalize: s32 [z_in, z_out, groups, over_map, keeps_mean], s32 shape, f32 [s_in, s_out, epsilons], f32 scale, f32 shift,
    # s8 x, s8 output
    def normalize(self):
        shape, groups, over_map = self.normalized_shape()
        keeps_mean, z_in, z_out = self.rng.random() < 0.3, self.zero_point(), self.zero_point()
        lo = self.integer(-128, 127)
        x = self.codes(*shape, lo=lo, hi=self.integer(lo, 127))
        s_in, s_out = self.scale(), self.scale(-9, -3)
        epsilons = self.epsilons([0.0, 1e-12, 1e-5, 0.5])
        scale, shift = (self.rng.normal(0, 1, shape[-1]).astype(f32) for _ in range(2))
        q = spec.normalize(x, s_in, z_in, s_out, z_out, scale, shift, epsilons, groups, over_map, keeps_mean)
        return [s32(z_in, z_out, groups, over_map, keeps_mean), s32(*shape), reals(s_in, s_out, *epsilons), reals(*scale),
                reals(*shift), s8(x), s8(q)]

    # normalize_f32: s32 [groups, over_map, keeps_mean], s32 shape, f32 epsilons, f32 scale, f32 shift, f32 x, f32 output
    def normalize_f32(self):
        shape, groups, over_map = self.normalized_shape()
        if self.rng.random() < 0.1:  # sums by blocks
            shape = [1, self.integer(1, 70), self.integer(60, 70), groups * 3] if over_map else [1, groups * self.integer(1000, 2100)]
        keeps_mean = self.rng.random() < 0.3
        x, epsilons = self.rng.normal(1, 2, shape).astype(f32), self.epsilons([1e-12, 1e-5, 0.5])
        scale, shift = (self.rng.normal(0, 1, shape[-1]).astype(f32) for _ in range(2))
        y = spec.normalize_f32(x, scale, shift, epsilons, groups, over_map, keeps_mean)
        return [s32(groups, over_map, keeps_mean), s32(*shape), reals(*epsilons), reals(*scale), reals(*shift),
                reals(*x.ravel()), reals(*y.ravel())]

    # resize_linear: s32 [n, h, w, c, oh, ow, half pixel], s8 x, s8 output
    def resize_linear(self):
        n, h, w, c, oh, ow = (self.integer(1, most) for most in (2, 12, 12, 40, 20, 20))
        half_pixel = self.integer(0, 1)
        x = self.codes(n, h, w, c)
        return [s32(n, h, w, c, oh, ow, half_pixel), s8(x), s8(spec.resize_linear(x, (oh, ow), half_pixel != 0))]

    # conv_f32: s32 [n, h, w, ic, oc, kh, kw, stride h w, dilation h w, pads, oh, ow], f32 x, f32 w, f32 bias, f32 output
    def conv_f32(self):
        k, stride, dilation, pads, size = self.window()
        n, ic, oc = self.integer(1, 2), self.integer(1, 20), self.integer(1, 40)
        x, w, bias = (self.rng.standard_normal(shape).astype(f32) for shape in ((n, *size, ic), (oc, *k, ic), oc))
        if self.rng.random() < 0.2:
            x *= f32(2.0**-70)  # some products are subnormal
            w *= f32(2.0**-60)
            bias *= f32(2.0**-126)
        y = spec.conv_f32(x, w, bias, stride, dilation, pads)
        return [s32(n, *size, ic, oc, *k, *stride, *dilation, *pads, *y.shape[1:3]), reals(x), reals(w), reals(bias), reals(y)]

    # product_f32: s32 [k, n, z_in], f32 [s_in], f32 s_w, s8 x, s8 w, s32 bias, f32 output
    def product_f32(self):
        k, n, z_in = self.integer(1, 400), self.integer(1, 100), self.zero_point()
        x, w, bias = self.codes(1, 1, 1, k), self.codes(n, 1, 1, k), self.rng.integers(-(2**20), 2**20, n)
        s_in, s_w = self.scale(), np.array([self.scale() for _ in range(n)], f32)
        y = spec.product_f32(spec.conv_acc(x, z_in, w, bias), s_in, s_w)
        return [s32(k, n, z_in), reals([s_in]), reals(s_w), s8(x), s8(w), s32(bias), reals(y)]

    # mean_of_reals: s32 [n, c], f32 [lo, hi], f32 x, f32 output
    def mean_of_reals(self):
        n, c = int(self.rng.choice([self.integer(1, 80), self.integer(1, 5000)])), self.integer(1, 40)
        x, (lo, hi) = self.rng.normal(2, 1, (n, c)).astype(f32), self.rng.choice([[-np.inf, np.inf], [0.0, 2.0]])
        return [s32(n, c), reals(lo, hi), reals(*x.ravel()), reals(*spec.mean_of_reals(x, lo, hi))]

    # l2_normalize_f32: s32 [rows, n], f32 [min_norm], f32 x, f32 output
    def l2_normalize_f32(self):
        rows, n = self.integer(1, 5), int(self.rng.choice([self.integer(1, 80), self.integer(1, 5000)]))
        x, min_norm = self.rng.normal(0, 1, (rows, n)).astype(f32), f32(self.rng.choice([0.0, 1e-12, 30.0]))
        if self.rng.random() < 0.3:
            x[0] = 0  # a norm of zero
        return [s32(rows, n), reals(min_norm), reals(*x.ravel()), reals(*spec.l2_normalize_f32(x, min_norm).ravel())]

    # mean_f32: s32 [h, w, c, z_in], f32 [s_in], s8 x, f32 output
    def mean_f32(self):
        h, w, c, z_in = self.integer(1, 14), self.integer(1, 14), self.integer(1, 130), self.zero_point()
        x, s_in = self.codes(h, w, c), self.scale()
        return [s32(h, w, c, z_in), reals([s_in]), s8(x), reals(spec.mean_f32((x - z_in).sum((0, 1)), h * w, s_in))]

    def wide_codes(self, *shape):
        return self.rng.choice([-32768, 32767], shape) if self.rng.random() < 0.2 else self.codes(*shape, lo=-32768, hi=32767)

    # fully_connected_s16: s32 [m, k, n, lo, hi], f32 [s_in, s_out], f32 s_w, s32 x, s8 w, s32 bias, s32 output
    def fully_connected_s16(self):
        m, k, n = self.integer(1, 9), self.integer(1, 1500), self.integer(1, 40)
        x, w = self.wide_codes(m, k), self.codes(n, k)
        bias = self.rng.integers(-(2**31) + 1, 2**31, n)
        total = x @ w.T + bias
        s_in, s_w = self.scale(), np.array([self.scale() for _ in range(n)], f32)
        s_out = f32(float(s_in) * float(np.median(s_w)) * max(float(np.abs(total).mean()), 1.0) / 12000)
        lo, hi = sorted(self.integer(-32768, 32767) for _ in range(2))
        q = spec.requantize_s16(total, spec.multiplier(s_in, s_w, s_out), lo, hi)
        return [s32(m, k, n, lo, hi), reals(s_in, s_out), reals(s_w), s32(x), s8(w), s32(bias), s32(q)]

    # elements_s16: s32 [product, lo, hi], f32 [s_a, s_b, s_out], s32 a, s32 b, s32 output
    def elements_s16(self):
        n, product = self.integer(1, 90), self.integer(0, 1)
        a, b = self.wide_codes(n), self.wide_codes(n)
        s_a, s_b = self.scale(), self.scale()
        s_out = f32(s_a * s_b * self.scale(8, 15)) if product else f32(s_a * self.scale(-2, 3))
        lo, hi = sorted(self.integer(-32768, 32767) for _ in range(2))
        q = (spec.mul_s16 if product else spec.add_s16)(a, s_a, b, s_b, s_out, lo, hi)
        return [s32(product, lo, hi), reals(s_a, s_b, s_out), s32(a), s32(b), s32(q)]

    # lookup_s16: s32 table [513], s32 x, s32 output
    def lookup_s16(self):
        table, x = self.wide_codes(513), self.codes(self.integer(1, 200), lo=-32768, hi=32767)
        return [s32(table), s32(x), s32(spec.lookup_s16(x, table))]

    # softmax_s16: s32 [rows, n], f32 [s_in, s_out], s32 table, s32 x, s32 output
    def softmax_s16(self):
        rows, n = self.integer(1, 5), int(self.rng.choice([1, 2, 3, 10, 100, 1000, self.integer(1, 2000)]))
        s_in, s_out = self.scale(-16, -7), f32(1 / 32768) if self.rng.random() < 0.6 else self.scale(-16, -10)
        table, lo = spec.softmax_table_s16(s_in, n), self.integer(-32768, 30000)
        x = self.codes(rows, n, lo=lo, hi=self.integer(lo, 32767))
        return [s32(rows, n), reals(s_in, s_out), s32(table), s32(x), s32(spec.softmax_s16(x, table, s_out))]

    # normalize_s16: s32 [groups, over_map, keeps_mean], s32 shape, f32 [s_in, s_out, epsilons], f32 scale, f32 shift, s32 x,
    # s32 output
    def normalize_s16(self):
        shape, groups, over_map = self.normalized_shape()
        if self.rng.random() < 0.03:
            shape, groups, over_map = [1, 40000], 1, False  # n * x - S needs more than 32 bits
        keeps_mean, lo = self.rng.random() < 0.3, self.integer(-32768, 32767)
        x = self.wide_codes(*shape) if self.rng.random() < 0.3 else self.codes(*shape, lo=lo, hi=self.integer(lo, 32767))
        s_in, s_out = self.scale(), self.scale(-17, -8)
        epsilons = self.epsilons([0.0, 1e-12, 1e-5, 0.5])
        scale, shift = (self.rng.normal(0, 1, shape[-1]).astype(f32) for _ in range(2))
        q = spec.normalize_s16(x, s_in, s_out, scale, shift, epsilons, groups, over_map, keeps_mean)
        return [s32(groups, over_map, keeps_mean), s32(*shape), reals(s_in, s_out, *epsilons), reals(*scale), reals(*shift),
                s32(x), s32(q)]

    # batch_mat_mul_s16: s32 [transposed, batches, m, k, n], f32 [s_a, s_b, s_out, factor], s32 a, s32 b, s32 output
    def batch_mat_mul_s16(self):
        transposed, batches, m, n = self.integer(0, 1), self.integer(1, 3), self.integer(1, 9), self.integer(1, 40)
        k = self.integer(1, 300)
        a, b = self.wide_codes(batches, m, k), self.wide_codes(*((batches, n, k) if transposed else (batches, k, n)))
        s_a, s_b, factor = self.scale(), self.scale(), self.factor()
        s_out = f32(float(s_a) * float(s_b) * float(factor) * k**0.5 * self.integer(1000, 100000))
        q = spec.batch_mat_mul_s16(a, s_a, b, s_b, s_out, transposed, factor)
        return [s32(transposed, batches, m, k, n), reals(s_a, s_b, s_out, factor), s32(a), s32(b), s32(q)]

    # requantize: s32 [z_out, lo, hi], s32 acc, f32 multiplier, s8 output
    def requantize(self):
        z, (lo, hi), n = self.zero_point(), self.clamp(), 500
        acc = self.rng.integers(-(2**31) + 1, 2**31, n) >> self.rng.integers(0, 31, n)
        m = (2.0 ** self.rng.uniform(-31, 4, n)).astype(f32)
        m[: n // 4] = (2.0 ** np.round(np.log2(m[: n // 4]))).astype(f32)
        m[n // 4 : n // 2] = (self.rng.uniform(-150, 150, n // 2 - n // 4) / np.where(acc == 0, 1, acc)[n // 4 : n // 2])
        return [s32(z, lo, hi), s32(acc), reals(m), s8(spec.requantize(acc, m, z, lo, hi))]


CASES = {"conv": 300, "fully_connected": 80, "depthwise": 200, "avg_pool": 200, "mean": 300, "add": 300,
         "sub": 300, "mul": 300, "div": 300, "l2_normalize": 200, "resize_linear": 200,
         "conv_f32": 100, "product_f32": 100, "mean_f32": 100, "mean_of_reals": 60, "l2_normalize_f32": 60, "batch_mat_mul_f32": 100,
         "add_params": 3000, "quantize": 200, "dequantize": 100, "lookup": 200, "softmax": 200, "batch_mat_mul": 200, "normalize": 300, "normalize_f32": 200, "requantize": 200,
         "fully_connected_s16": 100, "elements_s16": 200, "lookup_s16": 100,
         "softmax_s16": 100, "normalize_s16": 150, "batch_mat_mul_s16": 150}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    np.seterr(invalid="ignore", over="ignore", under="ignore")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, count in CASES.items():
        maker = Maker([arguments.seed, sum(name.encode())])
        if name == "fully_connected":
            cases = [maker.conv(fully_connected=True) for _ in range(count)]
        else:
            cases = [getattr(maker, name)() for _ in range(count)]
        write(arguments.folder, name, cases)
        print(f"{name}: {count} cases")


if __name__ == "__main__":
    main()
