#include "kernels/pool/mean_s8_f32.h"

namespace intaglio {

MeanS8F32 mean_s8_f32_scalar;

void mean_s8_f32_scalar(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier, float* y,
                        int32_t channels) {
  constexpr int32_t kBlock = 32;  // channels of one pass over the taps
  // The zero point of every tap, ahead of them: each partial sum lies within taps * 255 on both sides.
  const int32_t folded = -taps_count(taps) * x_zero_point;
  for (int32_t first = 0; first < channels; first += kBlock) {
    const int32_t count = channels - first < kBlock ? channels - first : kBlock;
    int32_t acc[kBlock];
    for (int32_t c = 0; c < count; ++c) acc[c] = folded;
    for_each_tap(taps, [&](ptrdiff_t offset) {
      const int8_t* const tap = x + first + offset;
      for (int32_t c = 0; c < count; ++c) acc[c] += tap[c];
    });
    for (int32_t c = 0; c < count; ++c) y[first + c] = static_cast<float>(acc[c]) * multiplier;
  }
}

}  // namespace intaglio
