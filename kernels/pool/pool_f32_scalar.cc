#include "kernels/pool/pool_f32.h"

#include "kernels/arithmetic/output_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kBlock = 16;

// `Channels` is kBlock where the loops are to be unrolled, 0 where `some` says how many there are.
template <int32_t Channels>
inline void average_block(const float* x, const Taps& taps, float n, const ClampF32& clamp, float* y,
                          int32_t some) {
  const int32_t channels = Channels > 0 ? Channels : some;
  float sum[kBlock];
  for (int32_t c = 0; c < channels; ++c) sum[c] = 0.0f;
  for_each_tap(taps, [&](ptrdiff_t offset) {
    const float* const tap = x + offset;
    for (int32_t c = 0; c < channels; ++c) sum[c] += tap[c];
  });
  for (int32_t c = 0; c < channels; ++c) y[c] = finish_f32(sum[c] / n, clamp);
}

template <int32_t Channels>
inline void max_block(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t some) {
  const int32_t channels = Channels > 0 ? Channels : some;
  float best[kBlock];
  // The first tap is x itself; taking it again changes nothing: max(a, a) is a.
  for (int32_t c = 0; c < channels; ++c) best[c] = x[c];
  for_each_tap(taps, [&](ptrdiff_t offset) {
    const float* const tap = x + offset;
    for (int32_t c = 0; c < channels; ++c) best[c] = best[c] > tap[c] ? best[c] : tap[c];
  });
  for (int32_t c = 0; c < channels; ++c) y[c] = finish_f32(best[c], clamp);
}

void fill(float v, float* y, int32_t channels) {
  for (int32_t c = 0; c < channels; ++c) y[c] = v;
}

}  // namespace

AverageF32 average_f32_scalar;
MaxF32 max_f32_scalar;

void average_f32_scalar(const float* x, const Taps& taps, int32_t n, const ClampF32& clamp, float* y,
                        int32_t channels) {
  if (taps_count(taps) == 0) return fill(finish_f32(0.0f, clamp), y, channels);
  int32_t c = 0;
  for (; c + kBlock <= channels; c += kBlock)
    average_block<kBlock>(x + c, taps, static_cast<float>(n), clamp, y + c, 0);
  if (c < channels) average_block<0>(x + c, taps, static_cast<float>(n), clamp, y + c, channels - c);
}

void max_f32_scalar(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  if (taps_count(taps) == 0) return fill(finish_f32(0.0f, clamp), y, channels);
  int32_t c = 0;
  for (; c + kBlock <= channels; c += kBlock) max_block<kBlock>(x + c, taps, clamp, y + c, 0);
  if (c < channels) max_block<0>(x + c, taps, clamp, y + c, channels - c);
}

}  // namespace intaglio
