// tanh, FP32: |x| < 0.625: a polynomial of degree 11; else 1 - 2 / (e(2 |x|) + 1); the sign of x. Straight-line code.
#pragma once

#include "kernels/arithmetic/exp_f32.h"

namespace intaglio {

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

}  // namespace intaglio
