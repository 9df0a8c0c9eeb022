// An exact sum to an int16 code: requant.h for activations of 16 bits, whose zero point is 0.
//
//   v = float(sum) * multiplier            one conversion, one multiply, each rounded to nearest even
//   q = rne(min(max(v, lo), hi))
//
// A sum that fits int32 may be held in 32 bits: its conversion gives the same float.
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

// Codes in [-32768, 32767], lo <= hi; they carry a fused activation.
struct OutputS16 {
  float lo, hi;
};

static inline OutputS16 make_output_s16(int32_t lo, int32_t hi) {
  return {static_cast<float>(lo), static_cast<float>(hi)};
}

// NaN gives `lo`.
static inline int16_t clamp_and_round_s16(float v, const OutputS16& output) {
  v = v > output.lo ? v : output.lo;
  v = v < output.hi ? v : output.hi;
  return static_cast<int16_t>(round_half_even(v));
}

static inline int16_t requantize_s16(int32_t sum, float multiplier, const OutputS16& output) {
  return clamp_and_round_s16(static_cast<float>(sum) * multiplier, output);
}
static inline int16_t requantize_wide_s16(int64_t sum, float multiplier, const OutputS16& output) {
  return clamp_and_round_s16(static_cast<float>(sum) * multiplier, output);
}

}  // namespace intaglio
