// exp(x), FP32: the same bits on every machine, and no libm.
//
//   n = rne(x * log2(e)), r = x - n * ln(2) with ln(2) in two parts, |r| <= ln(2) / 2
//   exp(x) = 2^n * ((1 + r) + r^2 * q(r)), q of degree 4, relative error of the polynomial 3.2e-9
//
// Within 1 ulp of the exact value, also where that is subnormal, and monotone. Above 88.7228 it is +inf,
// below -103.9721 it is 0; NaN gives NaN. Straight-line code: vector versions do the same operations lane by
// lane.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"
#include "kernels/arithmetic/fma_f32.h"

namespace intaglio {

// 2^n for n in [-126, 127].
static inline float power_of_two_f32(int32_t n) {
  return f32_from_bits(static_cast<uint32_t>(n + 127) << 23);
}

static inline float exp_f32(float x) {
  // Beyond these the result is +inf or 0 anyway, and n stays small. NaN is put back at the end.
  float v = x > -105.0f ? x : -105.0f;
  v = v < 90.0f ? v : 90.0f;

  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: the sum has n in its low mantissa bits
  const float shifted = fma_f32(v, 0x1.715476p+0f, kMagic);
  int32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  const int32_t n = bits - 0x4b400000;
  const float minus_n = kMagic - shifted;
  const float r = fma_f32(minus_n, -0x1.05c61p-29f, fma_f32(minus_n, 0x1.62e43p-1f, v));

  float p = 0x1.6a5e04p-10f;
  p = fma_f32(p, r, 0x1.123ac8p-7f);
  p = fma_f32(p, r, 0x1.5558a2p-5f);
  p = fma_f32(p, r, 0x1.55549p-3f);
  p = fma_f32(p, r, 0x1.fffffcp-2f);
  const float one_plus_r = 1.0f + r;
  const float lost = r - (one_plus_r - 1.0f);  // exact; without it the result would not be monotone
  p = one_plus_r + fma_f32(p * r, r, lost);

  // In two steps, since 2^n itself may be out of range: the first is exact, the second rounds once.
  const int32_t half = n >> 1;
  const float y = p * power_of_two_f32(half) * power_of_two_f32(n - half);
  return x == x ? y : f32_from_bits(0x7fc00000u);
}

}  // namespace intaglio
