// Channels in vectors; the last vector of enough channels overlaps the one before.
#include <cstring>

#include "kernels/arithmetic/requant_neon.h"
#include "kernels/pool/mean_s8_f32.h"

namespace intaglio {
namespace {

inline float32x4_t scaled(int32x4_t sum, float multiplier) {
  return vmulq_n_f32(vcvtq_f32_s32(sum), multiplier);
}

// Sixteen channels, or the first `count` of them.
void mean_16(const int8_t* x, const Taps& taps, int32_t folded, float multiplier, float* y, int32_t count) {
  int32x4_t sums[4];
  for (int32x4_t& sum : sums) sum = vdupq_n_s32(folded);
  for_each_tap(taps, [&](ptrdiff_t offset) {
    int8_t some[16] = {};
    if (count < 16) memcpy(some, x + offset, static_cast<size_t>(count));
    const int8x16_t codes = vld1q_s8(count < 16 ? some : x + offset);
    const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_s8(vget_high_s8(codes));
    sums[0] = add_low_neon(sums[0], low);
    sums[1] = add_high_neon(sums[1], low);
    sums[2] = add_low_neon(sums[2], high);
    sums[3] = add_high_neon(sums[3], high);
  });
  float means[16];
  float* const to = count < 16 ? means : y;
  for (int32_t i = 0; i < 4; ++i) vst1q_f32(to + 4 * i, scaled(sums[i], multiplier));
  if (count < 16) memcpy(y, means, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

MeanS8F32 mean_s8_f32_neon;

void mean_s8_f32_neon(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier, float* y,
                      int32_t channels) {
  const int32_t folded = -taps_count(taps) * x_zero_point;
  if (channels < 16) return mean_16(x, taps, folded, multiplier, y, channels);
  for (int32_t c = 0; c < channels; c += 16) {
    const int32_t from = c + 16 <= channels ? c : channels - 16;
    mean_16(x + from, taps, folded, multiplier, y + from, 16);
  }
}

}  // namespace intaglio
