"""The arithmetic of docs/arithmetic.md as a program.

Every kernel equals these functions bit for bit; tests/spec_oracle_test.cc holds them to it. The code follows the text and
not speed: whole tensors, one step a line. Codes are int8 values held in int64. Scales are float32. Activations are NHWC.
An exact sum of codes stays below 2^53, so that a float64 product of matrices is exact, too.
"""
import functools
import math

import numpy as np

f32 = np.float32


# ---- int32 to int8 ----------------------------------------------------------------------------------------------

def clamp_and_round(v, z_out, lo, hi):
    """float32 -> codes: clamped to the codes [lo, hi], then rounded, halves to even."""
    least, most = f32(lo - z_out), f32(hi - z_out)
    return np.rint(np.clip(np.asarray(v, f32), least, most)).astype(np.int64) + z_out


def requantize(acc, m, z_out, lo=-128, hi=127):
    """int32 sums -> codes: one conversion to float32, one product in float32."""
    acc = np.asarray(acc, np.int64)
    if acc.size and max(acc.max(), -acc.min()) > 2**31 - 1:
        raise OverflowError("the sum leaves int32; the loader refuses such weights")
    return clamp_and_round(acc.astype(np.int32).astype(f32) * np.asarray(m, f32), z_out, lo, hi)


def multiplier(s_in, s_w, s_out):
    """Of a convolution's channels: f32(f32(s_in * s_w) / s_out)."""
    product = f32(s_in) * np.asarray(s_w, f32)
    return product / f32(s_out)


# ---- windows ----------------------------------------------------------------------------------------------------

def taps(x, kernel, stride, dilation, pads):
    """Yields (i, j, what tap (i, j) of each output position reads), [n, oh, ow, c]. x is padded here with zeros."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    oh = (x.shape[1] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    ow = (x.shape[2] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            y0, x0 = i * dilation[0], j * dilation[1]
            yield i, j, x[:, y0:y0 + stride[0] * (oh - 1) + 1:stride[0], x0:x0 + stride[1] * (ow - 1) + 1:stride[1], :]


# ---- convolution, matrix product, pooling: exact sums ------------------------------------------------------------

def conv_acc(x, z_in, w, bias, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), groups=1):
    """x [n, h, w, ic], w [oc, kh, kw, ic / groups], bias [oc]. A padded tap contributes zero."""
    centred = np.asarray(x, np.int64) - z_in
    w = np.asarray(w, np.float64)
    depth, columns = w.shape[3], w.shape[0] // groups
    acc = 0
    for i, j, rows in taps(centred, w.shape[1:3], stride, dilation, pads):
        rows = rows.astype(np.float64)
        acc = acc + np.concatenate([rows[..., g * depth:(g + 1) * depth] @ w[g * columns:(g + 1) * columns, i, j].T
                                    for g in range(groups)], axis=-1)
    return acc.astype(np.int64) + np.asarray(bias, np.int64)


def depthwise_acc(x, z_in, w, bias, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0)):
    """x [n, h, w, c], w [kh, kw, c * m]: output channel c * m + k reads input channel c."""
    centred = np.asarray(x, np.int64) - z_in
    w = np.asarray(w, np.int64)
    repeats = w.shape[2] // centred.shape[3]
    return sum(np.repeat(rows, repeats, axis=3) * w[i, j]
               for i, j, rows in taps(centred, w.shape[:2], stride, dilation, pads)) + np.asarray(bias, np.int64)


def mean(acc, n, s_in, s_out, z_out, lo=-128, hi=127):
    """acc: the exact sum of (x - z_in) over n taps; n counts padded taps only where the model says so."""
    return requantize(acc, f32(s_in) / (f32(s_out) * f32(n)), z_out, lo, hi)


def product_f32(acc, s_in, s_w, lo=-np.inf, hi=np.inf):
    """A convolution or a matrix product that leaves int8 in FP32; a convolution's results may be clamped to reals."""
    y = np.asarray(acc, np.int64).astype(np.int32).astype(f32) * (f32(s_in) * np.asarray(s_w, f32))
    return np.clip(y, f32(lo), f32(hi)) + f32(0)


def mean_f32(acc, n, s_in):
    """A mean that leaves an int8 model in FP32."""
    return np.asarray(acc, np.int64).astype(np.int32).astype(f32) * (f32(s_in) / f32(n))


# ---- element by element -------------------------------------------------------------------------------------------

def add_params(s_a, s_b, s_out, bits=15):
    """(M_a, M_b, k). The larger multiplier has `bits` bits; k lies in [1, 30]. Of 21 the ratios are single precision."""
    ratio_a, ratio_b = float(f32(s_a)) / float(f32(s_out)), float(f32(s_b)) / float(f32(s_out))
    exponent = math.frexp(max(ratio_a, ratio_b))[1] - 1  # floor of the logarithm
    k = max(1, min(30, bits - 1 - exponent))
    rounded = [int(np.rint((float(f32(ratio)) if bits == 21 else ratio) * 2.0**k)) for ratio in (ratio_a, ratio_b)]
    assert exponent <= 14 and max(rounded) <= 2**bits, "refused: a scale more than 2^14 times the output's"
    return tuple(min(m, 2**bits - 1) for m in rounded) + (k,)


def add(a, z_a, b, z_b, params, z_out, lo=-128, hi=127):
    """Integers alone; a half rounds up. Subtraction takes -M_b."""
    m_a, m_b, k = params
    total = (np.asarray(a, np.int64) - z_a) * m_a + (np.asarray(b, np.int64) - z_b) * m_b
    return np.clip(z_out + ((total + 2**(k - 1)) >> k), lo, hi)


def mul(a, s_a, z_a, b, s_b, z_b, s_out, z_out, lo=-128, hi=127):
    product = (np.asarray(a, np.int64) - z_a) * (np.asarray(b, np.int64) - z_b)
    return requantize(product, f32(s_a) * f32(s_b) / f32(s_out), z_out, lo, hi)


def batch_mat_mul(a, s_a, z_a, b, s_b, z_b, s_out, z_out, transpose_b=False, scale=1):
    """Of two activations, times a factor: a [..., m, k], b [..., k, n], or transposed [..., n, k]."""
    left, right = (np.asarray(a, np.int64) - z_a).astype(np.float64), (np.asarray(b, np.int64) - z_b).astype(np.float64)
    acc = (left @ (np.swapaxes(right, -1, -2) if transpose_b else right)).astype(np.int64)
    return requantize(acc, f32(s_a) * f32(s_b) * f32(scale) / f32(s_out), z_out)


def div(a, s_a, z_a, b, s_b, z_b, s_out, z_out, lo=-128, hi=127):
    """x / 0 is the end of the output's range on the side of x; 0 / 0 is the real zero."""
    dividend, divisor = np.broadcast_arrays((np.asarray(a, np.int64) - z_a).astype(f32),
                                            (np.asarray(b, np.int64) - z_b).astype(f32))
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.where(dividend == 0, f32(0), dividend / divisor).astype(f32)
    return clamp_and_round(quotient * (f32(s_a) / (f32(s_b) * f32(s_out))), z_out, lo, hi)


def l2_normalize(x, s_in, z_in, s_out, z_out, epsilon):
    """Rows of the last axis divided by their Euclidean norm, which epsilon bounds from below."""
    centred = np.asarray(x, np.int64) - z_in
    norm = np.sqrt((centred**2).sum(-1, keepdims=True).astype(np.int32).astype(f32))
    norm = np.maximum(norm, f32(epsilon) / f32(s_in))
    with np.errstate(divide="ignore"):
        m = np.where(norm == 0, f32(0), f32(1) / (norm * f32(s_out))).astype(f32)
    return requantize(centred, m, z_out)


def normalize(x, s_in, z_in, s_out, z_out, scale, shift, epsilons, groups=1, over_map=False, keeps_mean=False):
    """Groups less their mean, divided by their deviation, then a factor and a summand for each index of the last axis.

    epsilons: what is added under the root, and what behind it.

    A group is a `groups`-th of the last axis; with over_map of all places between the first axis and the last, too."""
    x = np.asarray(x, np.int64)
    batches = x.shape[0] if over_map else math.prod(x.shape[:-1])
    g = x.reshape(batches, -1, groups, x.shape[-1] // groups)
    n = g.shape[1] * g.shape[3]
    if keeps_mean:
        centre = np.full((batches, 1, groups, 1), n * z_in, np.int64)
        q = n * ((g - z_in)**2).sum((1, 3), keepdims=True)
    else:
        centre = g.sum((1, 3), keepdims=True)
        q = n * (g**2).sum((1, 3), keepdims=True) - centre**2
    in_codes = f32(n) * f32(n) * (f32(epsilons[0]) / (f32(s_in) * f32(s_in)))
    root = np.sqrt(q.astype(f32) + in_codes) + f32(n) * (f32(epsilons[1]) / f32(s_in))
    with np.errstate(divide="ignore"):
        inverse = np.where(root == 0, f32(0), f32(1) / root).astype(f32)
    per_group = [np.asarray(p, f32).reshape(groups, -1) for p in (scale, shift)]
    normal = (n * g - centre).astype(np.int32).astype(f32) * inverse * per_group[0] + per_group[1]
    return clamp_and_round(normal * (f32(1) / f32(s_out)), z_out, -128, 127).reshape(x.shape)


def sum_f32(terms, add=np.add):
    """Over the first axis: up to 64 terms in one chain from 0; of more the sum of the sums of 64 each. add: of a chain and a term."""
    terms = np.asarray(terms, f32)
    sums = [functools.reduce(add, terms[i:i + 64], np.zeros(terms.shape[1:], f32)) for i in range(0, len(terms), 64)]
    return sums[0] if len(sums) == 1 else sum_f32(sums)


def mean_of_reals(x, lo=-np.inf, hi=np.inf):
    """Over the first axis. Finite values."""
    return np.clip(sum_f32(x) / f32(len(x)), f32(lo), f32(hi)) + f32(0)


def l2_normalize_f32(x, min_norm):
    """Rows divided by their norm; a row whose norm is 0 gives zeros. Finite values."""
    x = np.asarray(x, f32)
    norm = np.maximum(np.sqrt(sum_f32(x.T, lambda acc, term: fma(term, term, acc))), f32(min_norm))[:, None]
    return np.where(norm == 0, f32(0), x / np.where(norm == 0, f32(1), norm)).astype(f32) + f32(0)


def normalize_f32(x, scale, shift, epsilons, groups=1, over_map=False, keeps_mean=False):
    """The same in FP32. A sum: over the places of each channel, then over channels in 16 lanes, then the lanes by halves."""
    x = np.asarray(x, f32)
    batches = x.shape[0] if over_map else math.prod(x.shape[:-1])
    g = x.reshape(batches, -1, groups, x.shape[-1] // groups)
    n = f32(g.shape[1] * g.shape[3])

    def total(values):
        channels = sum_f32(np.moveaxis(values, 1, 0))
        lanes = np.zeros((batches, groups, 16), f32)
        for lane in range(min(16, g.shape[3])):
            lanes[..., lane] = sum_f32(np.moveaxis(channels[..., lane::16], -1, 0))
        for half in (8, 4, 2, 1):
            lanes = lanes[..., :half] + lanes[..., half:2 * half]
        return lanes[:, None]

    mean = f32(0) if keeps_mean else total(g) / n
    difference = g - mean
    inverse = f32(1) / (np.sqrt(total(difference * difference) / n + f32(epsilons[0])) + f32(epsilons[1]))
    per_group = [np.asarray(p, f32).reshape(groups, -1) for p in (scale, shift)]
    return (difference * inverse * per_group[0] + per_group[1] + f32(0)).reshape(x.shape)


# ---- reals and codes ----------------------------------------------------------------------------------------------

def quantize(x, s, z, lo=-128, hi=127):
    """IEEE division, then clamp and round. NaN gives the zero point, also where that lies outside [lo, hi]."""
    quotient = np.asarray(x, f32) / f32(s)
    nan = np.isnan(quotient)
    return np.where(nan, z, clamp_and_round(np.where(nan, f32(0), quotient), z, lo, hi))


def dequantize(q, s, z):
    return f32(s) * (np.asarray(q, np.int64) - z).astype(f32)


def lookup_table(function, s_in, z_in, s_out, z_out):
    """[256], the entry of code q at q + 128. `function` is computed in double and rounded to float32."""
    return quantize(function(dequantize(np.arange(-128, 128), s_in, z_in).astype(np.float64)), s_out, z_out)


# ---- sixteen bits: zero points are 0 -----------------------------------------------------------------------------

def round_s16(v, lo=-32768, hi=32767):
    """float32 -> int16 codes: clamped, then rounded, halves to even."""
    return np.rint(np.clip(np.asarray(v, f32), f32(lo), f32(hi))).astype(np.int64)


def requantize_s16(total, m, lo=-32768, hi=32767):
    """Exact sums, of 64 bits -> codes: one conversion to float32, one product in float32."""
    return round_s16(np.asarray(total, np.int64).astype(f32) * np.asarray(m, f32), lo, hi)


def add_s16(a, s_a, b, s_b, s_out, lo=-32768, hi=32767):
    return round_s16(a.astype(f32) * (f32(s_a) / f32(s_out)) + b.astype(f32) * (f32(s_b) / f32(s_out)), lo, hi)


def mul_s16(a, s_a, b, s_b, s_out, lo=-32768, hi=32767):
    return requantize_s16(a * b, f32(f32(s_a) * f32(s_b)) / f32(s_out), lo, hi)


def lookup_s16(x, table):
    i = 256 + (x >> 7)
    return table[i] + (((table[i + 1] - table[i]) * (x & 127) + 64) >> 7)


def batch_mat_mul_s16(a, s_a, b, s_b, s_out, transpose_b=False, scale=1):
    acc = np.asarray(a, np.int64) @ np.asarray(np.swapaxes(b, -1, -2) if transpose_b else b, np.int64)
    return requantize_s16(acc, f32(s_a) * f32(s_b) * f32(scale) / f32(s_out))


def nearest_f32(exact):
    """Python's integers of any size -> float32, rounded once: what is lost decides a tie."""
    shift = max(0, int(exact).bit_length() - 50)
    top = int(exact) >> shift
    return f32(float(top | (top << shift != exact))) * f32(2.0**shift)


def normalize_s16(x, s_in, s_out, scale, shift, epsilons, groups=1, over_map=False, keeps_mean=False):
    """normalize() without zero points; sums are exact at any size."""
    x = np.asarray(x, np.int64)
    batches = x.shape[0] if over_map else math.prod(x.shape[:-1])
    g = x.reshape(batches, -1, groups, x.shape[-1] // groups)
    n = g.shape[1] * g.shape[3]
    centre = np.zeros((batches, 1, groups, 1), np.int64) if keeps_mean else g.sum((1, 3), keepdims=True)
    squares = (g**2).sum((1, 3), keepdims=True)
    q = np.array([nearest_f32(n * int(a) - int(b)**2) for a, b in zip(squares.ravel(), centre.ravel())], f32)
    root = np.sqrt(q.reshape(centre.shape) + f32(n) * f32(n) * (f32(epsilons[0]) / (f32(s_in) * f32(s_in))))
    root = root + f32(n) * (f32(epsilons[1]) / f32(s_in))
    with np.errstate(divide="ignore"):
        inverse = np.where(root == 0, f32(0), f32(1) / root).astype(f32)
    per_group = [np.asarray(p, f32).reshape(groups, -1) for p in (scale, shift)]
    normal = (n * g - centre).astype(f32) * inverse * per_group[0] + per_group[1]
    return round_s16(normal * (f32(1) / f32(s_out))).reshape(x.shape)


def softmax_table_s16(s_in, n):
    """Of steps of 256 codes, then of single codes in fractions of 2^30."""
    k, step = min(23, 30 - math.ceil(math.log2(max(2, n)))), float(f32(s_in))
    return np.concatenate([np.rint(np.exp(-256 * step * np.arange(256)) * 2.0**k),
                           np.rint(np.exp(-step * np.arange(256)) * 2.0**30)]).astype(np.int64)


def softmax_s16(q, table, s_out):
    """Over the last axis."""
    q = np.asarray(q, np.int64)
    d = q.max(axis=-1, keepdims=True) - q
    t = (table[d >> 8] * table[256 + (d & 255)] + 2**29) >> 30
    factor = (f32(1) / f32(s_out)) / t.sum(axis=-1, keepdims=True).astype(f32)
    return round_s16(t.astype(f32) * factor)


def softmax_table(s_in, n):
    """T[d], d = 0 to 255. k is the largest for which n entries sum to 2^30 at most, and 23 at most."""
    k = min(23, 30 - math.ceil(math.log2(max(2, n))))
    return np.rint(np.exp(-float(f32(s_in)) * np.arange(256)) * 2.0**k).astype(np.int64)


def softmax(q, table, s_out, z_out, lo=-128, hi=127):
    """Over the last axis."""
    q = np.asarray(q, np.int64)
    t = table[q.max(axis=-1, keepdims=True) - q]
    factor = (f32(1) / f32(s_out)) / t.sum(axis=-1, keepdims=True).astype(f32)
    return clamp_and_round(t.astype(f32) * factor, z_out, lo, hi)


# ---- resizing ------------------------------------------------------------------------------------------------------

def resize_linear_taps(n_in, n_out, half_pixel=True):
    """(first, second, weight of the second in 1/2048) of each output along one axis."""
    result = []
    for o in range(n_out):
        # The coordinate as a quotient of integers: (2 o + 1) n_in / (2 n_out) - 1/2, or o n_in / n_out.
        numerator, divisor = ((2 * o + 1) * n_in - n_out, 2 * n_out) if half_pixel else (o * n_in, n_out)
        numerator = max(0, min(numerator, (n_in - 1) * divisor))
        first, rest = divmod(numerator, divisor)
        result.append((first, min(first + 1, n_in - 1), (2 * 2048 * rest + divisor) // (2 * divisor)))
    return result


def resize_linear(x, size, half_pixel=True):
    """x [n, h, w, c] codes; the output has the same scale. Halves round up."""
    x = np.asarray(x, np.int64)
    rows, columns = (resize_linear_taps(x.shape[1 + axis], size[axis], half_pixel) for axis in (0, 1))
    x0, x1, wx = (np.array([tap[i] for tap in columns]) for i in range(3))
    y0, y1, wy = (np.array([tap[i] for tap in rows]) for i in range(3))
    wx, wy = wx[:, None], wy[:, None, None]
    wide = x[:, :, x0] * (2048 - wx) + x[:, :, x1] * wx
    return (wide[:, y0] * (2048 - wy) + wide[:, y1] * wy + 2**21) >> 22


# ---- FP32 ----------------------------------------------------------------------------------------------------------

def fma(a, b, c):
    """a * b + c with one rounding, of float32. The product is exact in float64. The sum is rounded there to odd, which
    the rounding to float32 turns into the right one (Boldo and Melquiond 2008)."""
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    c = np.asarray(c, np.float64)
    total = np.asarray(product + c)
    back = total - product
    lost = (product - (total - back)) + (c - back)
    even = (total.view(np.int64) & 1) == 0
    return np.where((lost != 0) & even, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total).astype(f32)


def conv_f32(x, w, bias, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0)):
    """One chain of fused multiply-adds an output, over kh, kw, ic in this order, from the bias; then + 0. Finite values.
    A padded tap is left out, which is the same as a factor of zero."""
    x, w = np.asarray(x, f32), np.asarray(w, f32)
    acc = np.asarray(bias, f32)
    for i, j, rows in taps(x, w.shape[1:3], stride, dilation, pads):
        for depth in range(w.shape[3]):
            acc = fma(rows[..., depth, None], w[:, i, j, depth], acc)
    return acc + f32(0)


def batch_mat_mul_f32(a, b, transpose_b=False, scale=1):
    """The same in FP32: a chain over k from 0, then + 0; a factor other than 1 multiplies its end, then + 0. Finite values."""
    a, b = np.asarray(a, f32), np.asarray(b, f32)
    right = np.swapaxes(b, -1, -2) if transpose_b else b
    acc = f32(0)
    for k in range(a.shape[-1]):
        acc = fma(a[..., :, k, None], right[..., None, k, :], acc)
    acc = acc + f32(0)
    return acc if scale == 1 else acc * f32(scale) + f32(0)
