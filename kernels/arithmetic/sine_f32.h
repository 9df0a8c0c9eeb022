// sin and cos, FP32: the same bits on every machine, and no libm.
//
//   n = rne(x * 2 / pi), r = x - n * pi / 2 with pi / 2 in three parts, |r| <= pi / 4; n's last two bits choose the
//   polynomial, sin(r) of degree 7 or cos(r) of degree 8, and its sign
//
// That holds up to kSineRange. Beyond it (sine_far_f32) the fraction of x / (2 pi) comes from integers, with the bits of 1 / (2 pi) that x
// needs (Payne and Hanek 1983). Within 2 ulp of the exact value, near a zero of the function absolutely. Infinities and NaN give NaN.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"
#include "kernels/arithmetic/fma_f32.h"

namespace intaglio {

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
