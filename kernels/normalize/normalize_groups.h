// Groups of elements less their mean, divided by their deviation, times a factor and plus a summand a channel:
// LayerNormalization, GroupNormalization, InstanceNormalization, RMSNormalization.
//
// x and y are [places, stride], of which the first groups * depth channels are meant. A group is `depth` neighbours at all places:
// n = places * depth elements. y may be x; scale and shift are [groups * depth].
//
// s8, with exact integers:
//   S = sum of x, Q = n * sum of x^2 - S^2;  keeps_mean: S = n * z, Q = n * sum of (x - z)^2
//   inverse = 1 / (sqrt(f32(Q) + epsilon) + root_epsilon), 0 where that sum is 0
//   q = clamp(rne((f32(n * x - S) * inverse * scale[c] + shift[c]) * (1 / s_out))) + z_out
//   epsilon is in units of Q: f32(f32(f32(n) * f32(n)) * f32(epsilon / f32(s_in * s_in))), root_epsilon in units of its root:
//   f32(f32(n) * f32(root_epsilon / s_in)). n at most 2^23: n * x - S fits int32, Q 63 bits.
// s16: the same with z = 0, and clamp_and_round_s16. n * x - S needs 40 bits and Q 78: both are exact, and rounded once to a
//   float.
// f32:
//   a sum over a group: of each channel the sum over its places, in order; of channels c one sum for each c % 16, counted
//   from the group's first, in blocks of `block` (blocked_sum.h); then the 16 by halves, i and i + 8, i and i + 4, ...
//   mean = sum of x / n, or 0;  inverse = 1 / (sqrt(sum of (x - mean)^2 / n + epsilon) + root_epsilon)
//   y = (x - mean) * inverse * scale[c] + shift[c], canonical
//
// Each operation on floats is rounded by itself, from left to right. sqrt is functions_f32.h's. The same source is compiled once an
// instruction set (normalize_groups_loops.h).
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/blocked_sum.h"
#include "kernels/arithmetic/requant.h"
#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

struct NormalizeGroups {
  int32_t places, groups, depth;
  ptrdiff_t stride;
  bool keeps_mean;  // its mean is not taken off: the root mean square alone
};

// Scratch of a channel where there are several places: what its loops keep, an array each.
inline constexpr int32_t kNormalizeBytesS8 = 2 * 8 + 4 * 4, kNormalizeBytesS16 = 3 * 8;
static inline int32_t normalize_bytes_f32(int32_t places, int32_t block) {
  return (3 + sum_levels(places, block)) * 4;
}

// x and y are codes or reals, as the function says.
struct NormalizeArgs {
  NormalizeGroups groups;
  const void* x;
  void* y;
  const float *scale, *shift;
  void* sums;              // kNormalizeBytes... a channel, 8-aligned; nullptr where there is one place
  int32_t block;           // of FP32: of its sums
  float epsilon;           // of codes in units of Q
  float root_epsilon;      // of codes in units of Q's root
  float reciprocal_scale;  // of codes: 1 / s_out
  int32_t zero_point;      // of int8 codes: of x
  OutputS8 s8;
  OutputS16 s16;
};

using NormalizeFunction = void(const NormalizeArgs& args);

struct NormalizeKernel {
  const char* name;
  IsaMask isa;
  NormalizeFunction *s8, *s16, *f32;  // nullptr where this build has not compiled it
};

inline constexpr int32_t kMaxNormalized = 1 << 23;  // elements of a group of codes

// Best first. The scalar kernel is the last one.
int32_t normalize_count();
const NormalizeKernel& normalize_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t normalize_select(IsaMask isa);

// Rows divided by their Euclidean norm.
//
//   f32  sum in blocks of `block` (blocked_sum.h), each fma(x[n-1], x[n-1], ... fma(x[0], x[0], 0)), in order;
//        norm = max(sqrt(sum), min_norm)
//        y[i] = x[i] / norm; a row whose norm is 0 gives zeros
//   s8   norm = max(sqrt(float(sum of (x[i] - z)^2)), min_norm), an exact sum
//        y[i] = clamp(rne(float(x[i] - z) * (1 / (norm * s_out)))) + z_out; a row whose norm is 0 gives z_out
//
// sqrt is functions_f32.h's. x and y are [rows, n]; y may be x. In int8 n is at most 33025 and `min_norm` counts in
// steps of the input: f32(epsilon / s_in).

struct L2NormalizeS8 {
  int32_t zero_point;  // of x
  float min_norm;
  float scale;  // of y
  OutputS8 output;
};

void l2_normalize_f32(const float* x, float* y, int32_t rows, int32_t n, float min_norm, int32_t block);
void l2_normalize_s8(const int8_t* x, int8_t* y, int32_t rows, int32_t n, const L2NormalizeS8& params);

}  // namespace intaglio
