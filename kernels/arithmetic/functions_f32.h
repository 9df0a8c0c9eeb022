// Functions of one variable, FP32: the same bits on every machine, and no libm. Straight-line code, so that vector versions do the
// same operations lane by lane.
#pragma once

#include "kernels/arithmetic/fma_f32.h"
#include "kernels/arithmetic/output_f32.h"

namespace intaglio {

// Square root, FP32, correctly rounded: the same bits on every machine, and no libm.
//
// A first guess of 1 / sqrt(x) from the bits of x, three steps of Newton, then Markstein's two steps with
// fma, which end in the rounded root (a test goes through every mantissa). Below 0 it is NaN; NaN gives NaN,
// +inf gives +inf. Straight-line code.

static inline float sqrt_by_steps_f32(float x) {
  // Small numbers are brought up, since the last step's remainder would vanish.
  const bool is_small = x < 0x1p-90f;
  const float v = is_small ? x * 0x1p64f : x;
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  float y = f32_from_bits(0x5f375a86u - (bits >> 1));
  for (int32_t i = 0; i < 3; ++i) y = y * (1.5f - 0.5f * v * y * y);
  float root = v * y, half = 0.5f * y;
  const float r = fma_f32(-half, root, 0.5f);
  root = fma_f32(root, r, root);
  half = fma_f32(half, r, half);
  root = fma_f32(fma_f32(-root, root, v), half, root);
  root = is_small ? root * 0x1p-32f : root;
  root = v > 0x1.fffffep+127f || v == 0.0f ? v : root;
  return x >= 0.0f ? root : f32_from_bits(0x7fc00000u);
}

// The machine's own root is rounded correctly, too. Where a compiler would call libm for numbers below 0, it is not used.
static inline float sqrt_f32(float x) {
#if defined(__NO_MATH_ERRNO__) && (defined(__SSE2__) || defined(__aarch64__))
  const float root = __builtin_sqrtf(x);
  return x >= 0.0f ? root : f32_from_bits(0x7fc00000u);
#else
  return sqrt_by_steps_f32(x);
#endif
}

// exp(x), FP32: the same bits on every machine, and no libm.
//
//   n = rne(x * log2(e)), r = x - n * ln(2) with ln(2) in two parts, |r| <= ln(2) / 2
//   exp(x) = 2^n * ((1 + r) + r^2 * q(r)), q of degree 4, relative error of the polynomial 3.2e-9
//
// Within 1 ulp of the exact value, also where that is subnormal, and monotone. Above 88.7228 it is +inf,
// below -103.9721 it is 0; NaN gives NaN. Straight-line code: vector versions do the same operations lane by
// lane.

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

// Natural logarithms, FP32: the same bits on every machine, and no libm.
//
//   x = 2^e * m with m in [1 / sqrt(2), sqrt(2)), t = (m - 1) / (m + 1), |t| <= 0.172
//   log(x) = e * ln(2) + 2 t (1 + t^2 / 3 + t^4 / 5 + ...), ln(2) in two parts
//
// log(0) is -inf, below 0 it is NaN; NaN gives NaN, +inf gives +inf. Straight-line code.

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

// tanh, FP32: |x| < 0.625: a polynomial of degree 11; else 1 - 2 / (e(2 |x|) + 1); the sign of x. Straight-line code.

static inline float tanh_f32(float x) {
  const float a = x < 0.0f ? -x : x;
  const float z = a * a;
  float p = -0x1.75e1d4p-8f;
  p = fma_f32(p, z, 0x1.52269cp-6f);
  p = fma_f32(p, z, -0x1.b83c5ap-5f);
  p = fma_f32(p, z, 0x1.110726p-3f);
  p = fma_f32(p, z, -0x1.555532p-2f);
  const float small = fma_f32(p * z, a, a);
  const float large = 1.0f - 2.0f / (exp_f32(2.0f * a) + 1.0f);
  const float t = a < 0.625f ? small : large;
  return x < 0.0f ? -t : t;
}

// alpha * (e(x) - 1) for x <= 0, as alpha * (2 t / (1 - t)) with t = tanh(x / 2): small x keep their bits. x above 0 counts
// as 0.
static inline float scaled_expm1_f32(float x, float alpha) {
  const float t = tanh_f32(0.5f * (x < 0.0f ? x : 0.0f));
  return alpha * (2.0f * t / (1.0f - t));
}

// sin and cos, FP32: the same bits on every machine, and no libm.
//
//   n = rne(x * 2 / pi), r = x - n * pi / 2 with pi / 2 in three parts, |r| <= pi / 4; n's last two bits choose the
//   polynomial, sin(r) of degree 7 or cos(r) of degree 8, and its sign
//
// That holds up to kSineRange. Beyond it (sine_far_f32) the fraction of x / (2 pi) comes from integers, with the bits of 1 / (2 pi) that x
// needs (Payne and Hanek 1983). Within 2 ulp of the exact value, near a zero of the function absolutely. Infinities and NaN give NaN.

constexpr float kSineRange = 1048576.0f;

// sin(r + quadrant * pi / 2), |r| <= pi / 4 or little more.
static inline float sine_of_quadrant_f32(float r, uint32_t quadrant) {
  const float z = r * r;
  float s = fma_f32(-1.9515296e-4f, z, 8.3321609e-3f);
  s = fma_f32(s, z, -1.6666655e-1f);
  s = fma_f32(s * z, r, r);
  float c = fma_f32(2.4433157e-5f, z, -1.3887316e-3f);
  c = fma_f32(c, z, 4.1666646e-2f);
  c = fma_f32(c * z, z, fma_f32(-0.5f, z, 1.0f));
  const float v = (quadrant & 1u) != 0 ? c : s;
  return (quadrant & 2u) != 0 ? -v : v;
}

// sin(x + turn * pi / 2), |x| <= kSineRange; elsewhere some number.
static inline float sine_near_f32(float x, uint32_t turn) {
  float v = x < kSineRange ? x : kSineRange;
  v = v > -kSineRange ? v : -kSineRange;
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: the sum has n in its low mantissa bits
  const float shifted = fma_f32(v, 0x1.45f306p-1f, kMagic);
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  const float minus_n = kMagic - shifted;
  float r = fma_f32(minus_n, 0x1.921fb6p+0f, v);
  r = fma_f32(minus_n, -0x1.777a5cp-25f, r);
  r = fma_f32(minus_n, -0x1.ee59dap-50f, r);
  return sine_of_quadrant_f32(r, bits - 0x4b400000u + turn);
}

// The same of |x| > kSineRange, and of NaN.
static inline float sine_far_f32(float x, uint32_t turn) {
  // The first 224 bits of 1 / (2 pi).
  constexpr uint32_t kTurns[] = {0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u,
                                 0x36d8a566u, 0x4f10e410u, 0x7f9458eau};
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t exponent = (bits >> 23) & 0xffu;
  if (exponent == 0xffu) return f32_from_bits(0x7fc00000u);
  // x = mantissa * 2^(shift - 32): what the bits before `shift` give are whole turns, and go.
  const uint64_t mantissa = ((bits & 0x7fffffu) << 8) | 0x80000000u;
  const uint32_t shift = exponent - 126, word = shift / 32, within = shift % 32;
  const auto bits_from = [&](uint32_t i) -> uint64_t {  // 32 of them; i counts from one word before the first
    const uint64_t high = i == 0 ? 0 : kTurns[i - 1], low = kTurns[i];
    return (((high << 32) | low) >> (32 - within)) & 0xffffffffu;
  };
  // In quarter turns, 2 bits before the point and 62 behind it.
  uint64_t turns = (mantissa * bits_from(word + 2)) >> 32;
  turns += mantissa * bits_from(word + 1);
  turns += (mantissa * bits_from(word)) << 32;
  const uint64_t rounded = turns + (uint64_t{1} << 61);
  auto quadrant = static_cast<uint32_t>(rounded >> 62);
  const auto rest = static_cast<int64_t>(turns - (rounded & (uint64_t{3} << 62)));
  float r = static_cast<float>(rest) * 0x1.921fb6p-62f;  // times pi / 2
  if (x < 0.0f) {
    r = -r;
    quadrant = 0u - quadrant;
  }
  return sine_of_quadrant_f32(r, quadrant + turn);
}

}  // namespace intaglio
