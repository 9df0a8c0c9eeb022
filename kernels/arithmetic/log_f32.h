// Natural logarithms, FP32: the same bits on every machine, and no libm.
//
//   x = 2^e * m with m in [1 / sqrt(2), sqrt(2)), t = (m - 1) / (m + 1), |t| <= 0.172
//   log(x) = e * ln(2) + 2 t (1 + t^2 / 3 + t^4 / 5 + ...), ln(2) in two parts
//
// log(0) is -inf, below 0 it is NaN; NaN gives NaN, +inf gives +inf. Straight-line code.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"
#include "kernels/arithmetic/fma_f32.h"

namespace intaglio {

static inline float log_f32(float x) {
  const bool is_small = x < 0x1p-126f;
  const float v = is_small ? x * 0x1p24f : x;
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  constexpr uint32_t kSqrtHalf = 0x3f3504f3u;  // m starts there
  const uint32_t exponent = (bits - kSqrtHalf) & 0xff800000u;
  const float m = f32_from_bits(bits - exponent);
  const auto e = static_cast<float>((static_cast<int32_t>(exponent) >> 23) - (is_small ? 24 : 0));
  const float t = (m - 1.0f) / (m + 1.0f), z = t * t;
  float p = 2.0f / 11.0f;
  p = fma_f32(p, z, 2.0f / 9.0f);
  p = fma_f32(p, z, 2.0f / 7.0f);
  p = fma_f32(p, z, 2.0f / 5.0f);
  p = fma_f32(p, z, 2.0f / 3.0f);
  // The sum as f - t * (f - z * p), f = m - 1: exact, so that results near 0 keep all their bits.
  const float f = m - 1.0f;
  const float mantissa = fma_f32(t, fma_f32(p, z, -f), f);
  float y = fma_f32(e, -0x1.05c61p-29f, mantissa);
  y = fma_f32(e, 0x1.62e43p-1f, y);
  y = v > 0x1.fffffep+127f ? v : y;
  y = x == 0.0f ? f32_from_bits(0xff800000u) : y;
  return x >= 0.0f ? y : f32_from_bits(0x7fc00000u);
}

// log(1 + u), u in [0, 1]: 2 t (1 + t^2 / 3 + ...), t = u / (2 + u) at most 1/3.
static inline float log1p_unit_f32(float u) {
  const float t = u / (2.0f + u), z = t * t;
  float p = 2.0f / 15.0f;
  p = fma_f32(p, z, 2.0f / 13.0f);
  p = fma_f32(p, z, 2.0f / 11.0f);
  p = fma_f32(p, z, 2.0f / 9.0f);
  p = fma_f32(p, z, 2.0f / 7.0f);
  p = fma_f32(p, z, 2.0f / 5.0f);
  p = fma_f32(p, z, 2.0f / 3.0f);
  return fma_f32(p * z, t, 2.0f * t);
}

}  // namespace intaglio
