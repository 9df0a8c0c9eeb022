// Averages and maxima over windows, and means: int8, int16, FP32, and from int8 to FP32.
//
// Taps are the elements that one output is made from, for a run of channels that lie side by side:
//   x[i * step[0] + j * step[1] + k * step[2] + channel],  i < count[0], j < count[1], k < count[2]
// in this order. A pool's window needs two levels, its valid taps alone; a mean over any axes of a tensor of
// rank 6 needs three.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"
#include "kernels/arithmetic/blocked_sum.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/arithmetic/requant.h"
#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

struct Taps {
  int32_t count[3];
  int32_t step[3];
};

static inline int32_t taps_count(const Taps& taps) { return taps.count[0] * taps.count[1] * taps.count[2]; }

// Calls visit(offset) for each tap, in order.
template <typename Visit>
static inline void for_each_tap(const Taps& taps, Visit visit) {
  for (int32_t i = 0; i < taps.count[0]; ++i)
    for (int32_t j = 0; j < taps.count[1]; ++j)
      for (int32_t k = 0; k < taps.count[2]; ++k)
        visit(static_cast<ptrdiff_t>(i) * taps.step[0] + static_cast<ptrdiff_t>(j) * taps.step[1] +
              static_cast<ptrdiff_t>(k) * taps.step[2]);
}

// The same, with between() behind each `block` taps that others follow.
template <typename Visit, typename Between>
static inline void for_each_tap(const Taps& taps, int32_t block, Visit visit, Between between) {
  int32_t left = block;
  for (int32_t i = 0; i < taps.count[0]; ++i)
    for (int32_t j = 0; j < taps.count[1]; ++j) {
      const ptrdiff_t line =
          static_cast<ptrdiff_t>(i) * taps.step[0] + static_cast<ptrdiff_t>(j) * taps.step[1];
      for (int32_t k = 0; k < taps.count[2];) {
        if (left == 0) {
          between();
          left = block;
        }
        const int32_t rest = taps.count[2] - k, run = rest < left ? rest : left;
        left -= run;
        for (const int32_t end = k + run; k < end; ++k)
          visit(line + static_cast<ptrdiff_t>(k) * taps.step[2]);
      }
    }
}

// Average and maximum over taps, int8.
//
//   average  acc = sum of (x - x_zero_point) over the valid taps, exact; q = requantize(acc, multiplier)
//            multiplier = f32(s_in / f32(s_out * n)), n the valid taps, or all where padding counts
//   maximum  the largest code, then clamped to [lo, hi]; input and output have one quantization
//
// Without a valid tap the result is the real zero: 0 as acc, the output's zero point for a maximum.
// The caller has proved taps * 255 <= 2^31 - 1. y overlaps nothing.

static inline float mean_multiplier(float s_in, float s_out, int32_t n) {
  return s_in / (s_out * static_cast<float>(n));
}

using AverageS8 = void(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier,
                       const OutputS8& output, int8_t* y, int32_t channels);
using MaxS8 = void(const int8_t* x, const Taps& taps, int32_t zero_point, int32_t lo, int32_t hi, int8_t* y,
                   int32_t channels);

// A function is nullptr where this build has not compiled it.
struct PoolS8Kernel {
  const char* name;
  IsaMask isa;
  AverageS8* average;
  MaxS8* max;
};

// Best first. The scalar kernel is the last one.
int32_t pool_s8_count();
const PoolS8Kernel& pool_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t pool_s8_select(IsaMask isa);

// Average and maximum over taps, int16 codes, whose zero point is 0.
//
//   average  sum of x over the valid taps, exact; q = requantize_s16(sum, multiplier)             (requant_s16.h)
//            multiplier as of int8
//   maximum  the largest code, then clamped to [lo, hi]; input and output have one scale
//
// Without a valid tap the result is 0, clamped. At most 65535 taps: the sum fits int32. y overlaps nothing.

void average_s16(const int16_t* x, const Taps& taps, float multiplier, const OutputS16& output, int16_t* y,
                 int32_t channels);
void max_s16(const int16_t* x, const Taps& taps, int32_t lo, int32_t hi, int16_t* y, int32_t channels);

// Average and maximum over taps, FP32.
//
//   average  finish(sum / float(n)), the sum of the taps in blocks of `block` (blocked_sum.h), n the valid taps, or all
//            where padding counts
//   maximum  max(max(first, second), third) ..., max(a, b) = a > b ? a : b; then finish()
//
// Without a valid tap the result is finish(0). finish() is that of output_f32.h. y overlaps nothing.

using AverageF32 = void(const float* x, const Taps& taps, int32_t block, int32_t n, const ClampF32& clamp,
                        float* y, int32_t channels);
using MaxF32 = void(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels);

// A function is nullptr where this build has not compiled it.
struct PoolF32Kernel {
  const char* name;
  IsaMask isa;
  AverageF32* average;
  MaxF32* max;
};

// Best first. The scalar kernel is the last one.
int32_t pool_f32_count();
const PoolF32Kernel& pool_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t pool_f32_select(IsaMask isa);

// Mean of int8 codes over taps, with FP32 results: the end of an int8 model.
//
//   acc = sum of (x - x_zero_point) over the taps, exact
//   y = f32(acc) * multiplier            multiplier = s_in / f32(taps); each rounded to nearest even
//
// The caller has proved taps * 255 <= 2^31 - 1. y overlaps nothing.

using MeanS8F32 = void(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier, float* y,
                       int32_t channels);

struct MeanS8F32Kernel {
  const char* name;
  IsaMask isa;
  MeanS8F32* function;  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t mean_s8_f32_count();
const MeanS8F32Kernel& mean_s8_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t mean_s8_f32_select(IsaMask isa);

}  // namespace intaglio
