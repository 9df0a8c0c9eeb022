// requantize_s8() for plain loops. Where floating point is software (Cortex-M0+, M3, M23), a call of it takes some 200
// instructions, and the same in integers a quarter of that.
//
// With |acc| = a and multiplier = m * 2^e, m of 24 bits: a is rounded to 24 bits, then a * m to 24 bits, then that to an
// integer, each to nearest even, as the float operations do. Rounding and clamp commute, since the limits are integers.
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

// OutputS8 in integers, made once a call.
struct OutputSoft {
  int32_t zero_point, lo, hi;  // the limits less the zero point
};

static inline OutputSoft make_output_soft(const OutputS8& output) {
  return {output.zero_point, static_cast<int32_t>(output.lo_minus_zero_point),
          static_cast<int32_t>(output.hi_minus_zero_point)};
}

// v / 2^shift to the nearest integer, half to even; shift in [1, 63], v below 2^63.
static inline uint64_t shift_to_even(uint64_t v, int32_t shift) {
  const uint64_t whole = v >> shift;
  return (v + ((uint64_t{1} << (shift - 1)) - 1) + (whole & 1)) >> shift;
}

static inline bool is_positive_and_normal(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return (bits >> 23) - 1 < 254;
}

// The multiplier is positive and normal.
static inline int8_t requantize_in_integers(int32_t acc, float multiplier, const OutputSoft& output) {
  uint32_t bits;
  memcpy(&bits, &multiplier, sizeof bits);
  int32_t exponent = static_cast<int32_t>(bits >> 23) - 150;
  const uint32_t m = (bits & 0x7fffffu) | 0x800000u;
  uint32_t a = acc < 0 ? 0u - static_cast<uint32_t>(acc) : static_cast<uint32_t>(acc);
  if (a >> 24 != 0) {
    const int32_t drop = 8 - __builtin_clz(a);
    a = static_cast<uint32_t>(shift_to_even(a, drop));
    exponent += drop;
  }
  uint64_t product = uint64_t{a} * m;  // below 2^49
  const auto high = static_cast<uint32_t>(product >> 24);
  if (high != 0) {
    const int32_t drop = 32 - __builtin_clz(high);
    product = shift_to_even(product, drop);
    exponent += drop;
  }
  // At most 2^24 now. From 2^9 on every limit is passed.
  int32_t v = 512;
  if (exponent < -25)
    v = 0;
  else if (exponent < 0)
    v = static_cast<int32_t>(shift_to_even(product, -exponent));
  else if (product == 0)
    v = 0;
  v = acc < 0 ? -v : v;
  v = v > output.lo ? v : output.lo;
  v = v < output.hi ? v : output.hi;
  return static_cast<int8_t>(v + output.zero_point);
}

// requantize_s8(), whichever way is the shorter here.
static inline int8_t requantize_soft(int32_t acc, float multiplier, const OutputS8& output,
                                     const OutputSoft& in_integers) {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FP)
  if (is_positive_and_normal(multiplier)) return requantize_in_integers(acc, multiplier, in_integers);
#endif
  (void)in_integers;
  return requantize_s8(acc, multiplier, output);
}

}  // namespace intaglio
