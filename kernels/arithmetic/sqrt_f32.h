// Square root, FP32, correctly rounded: the same bits on every machine, and no libm.
//
// A first guess of 1 / sqrt(x) from the bits of x, three steps of Newton, then Markstein's two steps with
// fma, which end in the rounded root (a test goes through every mantissa). Below 0 it is NaN; NaN gives NaN,
// +inf gives +inf. Straight-line code.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"
#include "kernels/arithmetic/fma_f32.h"

namespace intaglio {

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

}  // namespace intaglio
