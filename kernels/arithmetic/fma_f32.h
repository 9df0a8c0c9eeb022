// a * b + c with one rounding, the same bits on every machine (NaN apart: output_f32.h gives it its bits).
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/arithmetic/ieee_float.h"

namespace intaglio {

// Without the instruction (documented as slow): the product is exact in double; the sum is rounded to odd
// there, which the final rounding to float turns into the right one (Boldo and Melquiond 2008).
static inline float fma_f32_soft(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  const double sum = product + addend;
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (addend - back);  // exact: two-sum
  int64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  // Infinities and NaN are the result already. A finite sum cannot overflow in double.
  constexpr int64_t kExponent = 0x7ff0000000000000;
  if (lost != 0.0 && (bits & 1) == 0 && (bits & kExponent) != kExponent) {
    // The neighbour on the side of what was lost has an odd last bit.
    bits += ((lost > 0.0) == (bits >= 0)) ? 1 : -1;
  }
  double odd;
  memcpy(&odd, &bits, sizeof odd);
  return static_cast<float>(odd);
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
static inline float fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
static inline float fma_f32(float a, float b, float c) { return fma_f32_soft(a, b, c); }
#endif

}  // namespace intaglio
