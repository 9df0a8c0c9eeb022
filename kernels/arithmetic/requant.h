// int32 accumulator to int8 code: the one place where that happens, for every kernel.
//
//   v = float(acc) * multiplier            one conversion, one multiply, each rounded to nearest even
//   v = min(max(v, lo - zero_point), hi - zero_point)
//   q = rne(v) + zero_point
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/arithmetic/ieee_float.h"

namespace intaglio {

// How an int8 output is reached. lo and hi are codes in [-128, 127], lo <= hi; they carry a fused activation.
struct OutputS8 {
  int32_t zero_point;
  float lo_minus_zero_point;
  float hi_minus_zero_point;
};

static inline OutputS8 make_output_s8(int32_t zero_point, int32_t lo, int32_t hi) {
  return {zero_point, static_cast<float>(lo - zero_point), static_cast<float>(hi - zero_point)};
}

// Nearest integer, half to even, for |v| <= 2^22: the sum with 1.5 * 2^23 leaves it in the low mantissa bits.
static inline int32_t round_half_even(float v) {
  constexpr float kMagic = 12582912.0f;
  constexpr int32_t kMagicBits = 0x4b400000;
  const float shifted = v + kMagic;
  int32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  return bits - kMagicBits;
}

static inline int8_t clamp_and_round_s8(float v, const OutputS8& output) {
  v = v > output.lo_minus_zero_point ? v : output.lo_minus_zero_point;
  v = v < output.hi_minus_zero_point ? v : output.hi_minus_zero_point;
  return static_cast<int8_t>(round_half_even(v) + output.zero_point);
}

static inline int8_t requantize_s8(int32_t acc, float multiplier, const OutputS8& output) {
  return clamp_and_round_s8(static_cast<float>(acc) * multiplier, output);
}

// Addition of two int8 values with different scales, in integers only:
//   sum = (a - a_zero_point) * a_multiplier + (b - b_zero_point) * b_multiplier
//   q   = zero_point + ((sum + 2^(shift - 1)) >> shift)
// clamped to [lo, hi]. Multipliers are below 2^21, right_shift lies in [1, 30].
struct AddS8 {
  int32_t a_zero_point, b_zero_point;
  int32_t a_multiplier, b_multiplier;
  int32_t right_shift;
  int32_t zero_point, lo, hi;
};

static inline int8_t add_s8(int32_t a, int32_t b, const AddS8& p) {
  const int32_t sum = (a - p.a_zero_point) * p.a_multiplier + (b - p.b_zero_point) * p.b_multiplier;
  int32_t q = p.zero_point + ((sum + (int32_t{1} << (p.right_shift - 1))) >> p.right_shift);
  q = q < p.lo ? p.lo : q;
  return static_cast<int8_t>(q > p.hi ? p.hi : q);
}

}  // namespace intaglio
