// The functions of unary_f32.h and their loops, for the file of each instruction set: compilers vectorise
// them.
#pragma once

#include "kernels/arithmetic/functions_f32.h"
#include "kernels/eltwise/unary_f32.h"

namespace intaglio {

static inline float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }

// erfc(u) / 2. As a call it would keep the loops around it from being vectorised.
__attribute__((always_inline)) static inline float half_erfc_f32(float u) {
  const float z = u < 0.0f ? -u : u;
  const float t = 1.0f / fma_f32(0.5f, z, 1.0f);
  float p = 0.17087277f;
  p = fma_f32(p, t, -0.82215223f);
  p = fma_f32(p, t, 1.48851587f);
  p = fma_f32(p, t, -1.13520398f);
  p = fma_f32(p, t, 0.27886807f);
  p = fma_f32(p, t, -0.18628806f);
  p = fma_f32(p, t, 0.09678418f);
  p = fma_f32(p, t, 0.37409196f);
  p = fma_f32(p, t, 1.00002368f);
  p = fma_f32(p, t, -1.26551223f);
  // 1 minus it for u below 0: one expression for both, since compilers do not vectorise a choice between two.
  const float half = u < 0.0f ? -0.5f * t : 0.5f * t, from = u < 0.0f ? 1.0f : 0.0f;
  return fma_f32(half, exp_f32(fma_f32(-z, z, p)), from);
}

static inline float hard_swish_f32(float x) {
  float v = x + 3.0f;
  v = v > 0.0f ? v : 0.0f;
  v = v < 6.0f ? v : 6.0f;
  return x * v * (1.0f / 6.0f);
}

static inline float hard_sigmoid_f32(float x, float alpha, float beta) {
  const float line = fma_f32(alpha, x, beta);
  float v = line > 0.0f ? line : 0.0f;
  v = v < 1.0f ? v : 1.0f;
  return line == line ? v : line;
}

static inline float gelu_tanh_f32(float x) {
  constexpr float kFactor = -1.5957691f;  // -2 * sqrt(2 / pi)
  const float u = fma_f32(0.044715f * x * x, x, x);
  return x / (1.0f + exp_f32(kFactor * u));
}

static inline float erf_f32(float x) {
  const float z = x * x;
  float p = 1.2055332e-4f;  // 2 / sqrt(pi) / (n! * (2 n + 1)), n from 6 down to 0, signs alternating
  p = fma_f32(p, z, -8.5483270e-4f);
  p = fma_f32(p, z, 5.2239776e-3f);
  p = fma_f32(p, z, -2.6866171e-2f);
  p = fma_f32(p, z, 1.1283792e-1f);
  p = fma_f32(p, z, -3.7612638e-1f);
  p = fma_f32(p, z, 1.1283792f);
  const float large = 1.0f - 2.0f * half_erfc_f32(x);
  return z < 0.25f ? p * x : large;
}

static inline float elu_f32(float x, float alpha) {
  const float below = scaled_expm1_f32(x, alpha);
  return x > 0.0f ? x : (x == x ? below : x);
}

static inline float softplus_f32(float x) {
  const float y = (x > 0.0f ? x : 0.0f) + log1p_unit_f32(exp_f32(x < 0.0f ? x : -x));
  return x == x ? y : x;
}

static inline float mish_f32(float x) {
  const float w = exp_f32(x < 20.0f ? x : 20.0f), n = w * (w + 2.0f);
  const float y = x * (n / (n + 2.0f));
  return x < 20.0f ? y : x;
}

constexpr int32_t kUnaryBlock = 64;

template <typename Function>
static inline void map_f32(const float* x, float* __restrict block, Function function) {
  for (int32_t i = 0; i < kUnaryBlock; ++i) block[i] = canonical_f32(function(x[i]));
}

// A block's values, from x: the loops of all functions, and one copy of what is around them.
__attribute__((noinline)) static void unary_block_f32(const UnaryF32Args& args, const float* x,
                                                      float* block) {
  const float alpha = args.alpha, beta = args.beta;
  switch (args.function) {
    case UnaryF32::kLeakyRelu:
      return map_f32(x, block, [alpha](float v) { return v > 0.0f ? v : alpha * v; });
    case UnaryF32::kSigmoid:
      return map_f32(x, block, [](float v) { return sigmoid_f32(v); });
    case UnaryF32::kTanh:
      return map_f32(x, block, [](float v) { return tanh_f32(v); });
    case UnaryF32::kHardSwish:
      return map_f32(x, block, [](float v) { return hard_swish_f32(v); });
    case UnaryF32::kHardSigmoid:
      return map_f32(x, block, [alpha, beta](float v) { return hard_sigmoid_f32(v, alpha, beta); });
    case UnaryF32::kSwish:
      return map_f32(x, block, [](float v) { return v / (1.0f + exp_f32(-v)); });
    case UnaryF32::kGelu:
      return map_f32(x, block, [](float v) { return v * half_erfc_f32(-0x1.6a09e6p-1f * v); });
    case UnaryF32::kExp:
      return map_f32(x, block, [](float v) { return exp_f32(v); });
    case UnaryF32::kAbs:
      return map_f32(x, block, [](float v) { return v < 0.0f ? -v : v; });
    case UnaryF32::kSqrt:
      return map_f32(x, block, [](float v) { return sqrt_f32(v); });
    case UnaryF32::kRsqrt:
      return map_f32(x, block, [](float v) { return 1.0f / sqrt_f32(v); });
    case UnaryF32::kReciprocal:
      return map_f32(x, block, [](float v) { return 1.0f / v; });
    case UnaryF32::kLog:
      return map_f32(x, block, [](float v) { return log_f32(v); });
    case UnaryF32::kErf:
      return map_f32(x, block, [](float v) { return erf_f32(v); });
    case UnaryF32::kElu:
      return map_f32(x, block, [alpha](float v) { return elu_f32(v, alpha); });
    case UnaryF32::kSoftplus:
      return map_f32(x, block, [](float v) { return softplus_f32(v); });
    case UnaryF32::kMish:
      return map_f32(x, block, [](float v) { return mish_f32(v); });
    case UnaryF32::kGeluTanh:
      return map_f32(x, block, [](float v) { return gelu_tanh_f32(v); });
  }
}

// y[i] = function(x[i]), into a block that cannot be x: compilers vectorise it although y may be x. What
// is left at the end is a block, too.
static inline void unary_rows_f32(const UnaryF32Args& args) {
  for (int32_t i = 0; i < args.n; i += kUnaryBlock) {
    float block[kUnaryBlock];
    const int32_t left = args.n - i;
    if (left >= kUnaryBlock) {
      unary_block_f32(args, args.x + i, block);
      memcpy(args.y + i, block, sizeof block);  // of a size that the compiler knows: no call
      continue;
    }
    const size_t bytes = sizeof(float) * static_cast<size_t>(left);
    float rest[kUnaryBlock] = {};
    memcpy(rest, args.x + i, bytes);
    unary_block_f32(args, rest, block);
    memcpy(args.y + i, block, bytes);
  }
}

}  // namespace intaglio
