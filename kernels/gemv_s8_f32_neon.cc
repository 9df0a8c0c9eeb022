// Four channels at a time: their weights are four streams, and a vector of codes serves all of them.
#include "kernels/gemv_s8_f32.h"
#include "kernels/widen_neon.h"

namespace intaglio {
namespace {

constexpr int32_t kStep = 16;  // codes of a vector

// A product fits int16, two of them may not: (-128)^2 twice.
inline int32x4_t add_products(int32x4_t sum, int8x16_t x, int8x16_t w) {
  sum = vpadalq_s16(sum, multiply_low_neon(x, w));
  return vpadalq_s16(sum, multiply_high_neon(x, w));
}

// Sums of the weights' rows [w + c * k), c < Channels, in four lanes each; the last k % 16 are left out.
template <int32_t Channels>
inline void sum_rows(const int8_t* x, const int8_t* w, int32_t k, int32x4_t* sums) {
#pragma GCC unroll 4
  for (int32_t c = 0; c < Channels; ++c) sums[c] = vdupq_n_s32(0);
  for (int32_t i = 0; i + kStep <= k; i += kStep) {
    const int8x16_t codes = vld1q_s8(x + i);
#pragma GCC unroll 4
    for (int32_t c = 0; c < Channels; ++c)
      sums[c] = add_products(sums[c], codes, vld1q_s8(w + static_cast<ptrdiff_t>(c) * k + i));
  }
}

inline uint32_t add_lanes(int32x4_t v) {
  const uint32x4_t sums = vreinterpretq_u32_s32(v);
  const uint32x2_t two = vadd_u32(vget_low_u32(sums), vget_high_u32(sums));
  return vget_lane_u32(vpadd_u32(two, two), 0);
}

// One output: the lanes, the codes that fill no vector, the bias.
inline float finish(int32x4_t sums, const int8_t* x, const int8_t* w, int32_t bias, float multiplier,
                    int32_t k) {
  uint32_t acc = add_lanes(sums) + static_cast<uint32_t>(bias);
  for (int32_t i = k / kStep * kStep; i < k; ++i) acc += static_cast<uint32_t>(x[i] * w[i]);
  return static_cast<float>(static_cast<int32_t>(acc)) * multiplier;
}

}  // namespace

GemvS8F32 gemv_s8_f32_neon;

void gemv_s8_f32_neon(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                      float* y, int32_t n, int32_t k) {
  int32x4_t sums[4];
  int32_t c = 0;
  for (; c + 4 <= n; c += 4, w += 4 * static_cast<ptrdiff_t>(k)) {
    sum_rows<4>(x, w, k, sums);
    for (int32_t i = 0; i < 4; ++i)
      y[c + i] = finish(sums[i], x, w + static_cast<ptrdiff_t>(i) * k, bias[c + i], multiplier[c + i], k);
  }
  for (; c < n; ++c, w += k) {
    sum_rows<1>(x, w, k, sums);
    y[c] = finish(sums[0], x, w, bias[c], multiplier[c], k);
  }
}

}  // namespace intaglio
