// Average and maximum over taps (taps.h), int8.
//
//   average  acc = sum of (x - x_zero_point) over the valid taps, exact; q = requantize(acc, multiplier)
//            multiplier = f32(s_in / f32(s_out * n)), n the valid taps, or all where padding counts
//   maximum  the largest code, then clamped to [lo, hi]; input and output have one quantization
//
// Without a valid tap the result is the real zero: 0 as acc, the output's zero point for a maximum.
// The caller has proved taps * 255 <= 2^31 - 1. y overlaps nothing.
#pragma once

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant.h"
#include "kernels/pool/taps.h"

namespace intaglio {

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

}  // namespace intaglio
