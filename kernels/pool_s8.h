// Average and maximum over taps (taps.h), int8.
//
//   average  acc = sum of (x - x_zero_point) over the valid taps, exact; q = requantize(acc, multiplier)
//            multiplier = f32(s_in / f32(s_out * n)), n the valid taps, or all where padding counts
//   maximum  the largest code, then clamped to [lo, hi]; input and output have one quantization
//
// Without a valid tap the result is the real zero: 0 as acc, the output's zero point for a maximum.
// The caller has proved taps * 255 <= 2^31 - 1. y overlaps nothing.
#pragma once

#include "kernels/requant.h"
#include "kernels/taps.h"

namespace intaglio {

static inline float mean_multiplier(float s_in, float s_out, int32_t n) {
  return s_in / (s_out * static_cast<float>(n));
}

void average_s8(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier,
                const OutputS8& output, int8_t* y, int32_t channels);

void max_s8(const int8_t* x, const Taps& taps, int32_t zero_point, int32_t lo, int32_t hi, int8_t* y,
            int32_t channels);

}  // namespace intaglio
