// The functions of rare_f32.h and their loops, for the file of each instruction set: compilers vectorise them.
#pragma once

#include "kernels/arithmetic/functions_f32.h"
#include "kernels/eltwise/rare_f32.h"

namespace intaglio {

// Above 2^23 every float is an integer.
static inline float round_f32(float x) {
  constexpr float kMagic = 8388608.0f;
  const float a = x < 0.0f ? -x : x;
  const float rounded = (a + kMagic) - kMagic;
  const float y = x < 0.0f ? -rounded : rounded;
  return a < kMagic ? y : x;
}

static inline float floor_f32(float x) {
  const float near = round_f32(x);
  return near > x ? near - 1.0f : near;
}

static inline float ceil_f32(float x) {
  const float near = round_f32(x);
  return near < x ? near + 1.0f : near;
}

static inline float sign_f32(float x) { return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x); }

static inline float integer_power_f32(float x, uint32_t exponent) {
  float power = 1.0f;
  for (float square = x; exponent != 0; square *= square, exponent >>= 1)
    if ((exponent & 1u) != 0) power *= square;
  return power;
}

// e(alpha * ln(x)) of a product that is not rounded.
static inline float real_power_f32(float x, float alpha) {
  const float l = log_f32(x);
  const float product = alpha * l;
  const float lost = fma_f32(alpha, l, -product);
  const float y = exp_f32(product);
  const bool is_plain = product > -87.0f && product < 88.0f;  // no infinity times 0
  return is_plain ? fma_f32(y, lost, y) : y;
}

static inline float shrink_f32(float x, float threshold, float bias) {
  const float y = x < -threshold ? x + bias : (x > threshold ? x - bias : 0.0f);
  return x == x ? y : x;
}

constexpr int32_t kRareBlock = 64;

template <typename Function>
static inline void map_rare_f32(const float* x, float* __restrict block, Function function) {
  for (int32_t i = 0; i < kRareBlock; ++i) block[i] = canonical_f32(function(x[i]));
}

static inline void pow_block_f32(float alpha, const float* x, float* block) {
  constexpr float kMostDoubled = 128.0f;
  const float doubled = 2.0f * alpha, size = doubled < 0.0f ? -doubled : doubled;
  if (!(size <= kMostDoubled) || round_f32(doubled) != doubled)
    return map_rare_f32(x, block, [alpha](float v) { return real_power_f32(v, alpha); });
  // The result of the loop below for these, without a loop: they vectorise.
  if (alpha == 2.0f) return map_rare_f32(x, block, [](float v) { return v * v; });
  if (alpha == 3.0f) return map_rare_f32(x, block, [](float v) { return v * (v * v); });
  if (alpha == 0.5f) return map_rare_f32(x, block, [](float v) { return sqrt_f32(v); });
  const auto halves = static_cast<uint32_t>(size);
  const bool of_root = (halves & 1u) != 0, divides = alpha < 0.0f;
  const uint32_t exponent = of_root ? halves : halves / 2;
  map_rare_f32(x, block, [=](float v) {
    const float power = integer_power_f32(of_root ? sqrt_f32(v) : v, exponent);
    return divides ? 1.0f / power : power;
  });
}

static inline void sine_block_f32(uint32_t turn, const float* x, float* block) {
  map_rare_f32(x, block, [turn](float v) { return sine_near_f32(v, turn); });
  for (int32_t i = 0; i < kRareBlock; ++i)
    if (!(x[i] <= kSineRange && x[i] >= -kSineRange)) block[i] = canonical_f32(sine_far_f32(x[i], turn));
}

// A block's values, from x: the loops of all functions, and one copy of what is around them.
__attribute__((noinline)) static void rare_block_f32(const RareF32Args& args, const float* x, float* block) {
  const float alpha = args.alpha, beta = args.beta;
  switch (args.function) {
    case RareF32::kFloor:
      return map_rare_f32(x, block, [](float v) { return floor_f32(v); });
    case RareF32::kCeil:
      return map_rare_f32(x, block, [](float v) { return ceil_f32(v); });
    case RareF32::kRound:
      return map_rare_f32(x, block, [](float v) { return round_f32(v); });
    case RareF32::kSign:
      return map_rare_f32(x, block, [](float v) { return sign_f32(v); });
    case RareF32::kSin:
      return sine_block_f32(0, x, block);
    case RareF32::kCos:
      return sine_block_f32(1, x, block);
    case RareF32::kPow:
      return pow_block_f32(alpha, x, block);
    case RareF32::kSelu:
      return map_rare_f32(x, block, [alpha, beta](float v) {
        return beta * (v > 0.0f ? v : (v == v ? scaled_expm1_f32(v, alpha) : v));
      });
    case RareF32::kCelu:
      return map_rare_f32(x, block, [alpha](float v) {
        return v > 0.0f ? v : (v == v ? scaled_expm1_f32(v / alpha, alpha) : v);
      });
    case RareF32::kThresholdedRelu:
      return map_rare_f32(x, block, [alpha](float v) { return v <= alpha ? 0.0f : v; });
    case RareF32::kShrink:
      return map_rare_f32(x, block, [alpha, beta](float v) { return shrink_f32(v, alpha, beta); });
    case RareF32::kSoftsign:
      return map_rare_f32(x, block, [](float v) { return v / (1.0f + (v < 0.0f ? -v : v)); });
  }
}

// y[i] = function(x[i]), a block at a time as in unary_f32_rows.h.
static inline void rare_rows_f32(const RareF32Args& args) {
  for (int32_t i = 0; i < args.n; i += kRareBlock) {
    float block[kRareBlock], rest[kRareBlock] = {};
    const int32_t left = args.n - i, count = left < kRareBlock ? left : kRareBlock;
    const size_t bytes = sizeof(float) * static_cast<size_t>(count);
    memcpy(rest, args.x + i, bytes);
    rare_block_f32(args, rest, block);
    memcpy(args.y + i, block, bytes);
  }
}

}  // namespace intaglio
