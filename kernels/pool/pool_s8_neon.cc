// Channels in vectors; the last vector of enough channels overlaps the one before.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/pool/pool_s8.h"

namespace intaglio {
namespace {

// Sixteen codes, of which `count` are read or written.
inline int8x16_t load_some(const int8_t* p, int32_t count) {
  if (count == 16) return vld1q_s8(p);
  int8_t some[16] = {};
  memcpy(some, p, static_cast<size_t>(count));
  return vld1q_s8(some);
}
inline void store_some(int8_t* p, int8x16_t codes, int32_t count) {
  if (count == 16) return vst1q_s8(p, codes);
  int8_t some[16];
  vst1q_s8(some, codes);
  memcpy(p, some, static_cast<size_t>(count));
}

// Vectors of channels, or the first `count` of one.
template <int32_t Vectors>
void average(const int8_t* x, const Taps& taps, int32_t folded, float multiplier, const OutputNeon& output,
             int8_t* y, int32_t count) {
  constexpr int32_t kShortTaps = 256;  // of the least code int16 still holds the sum
  int32x4_t sums[Vectors][4];
  int16x8_t low[Vectors], high[Vectors];
#pragma GCC unroll 2
  for (int32_t v = 0; v < Vectors; ++v) {
    low[v] = high[v] = vdupq_n_s16(0);
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) sums[v][i] = vdupq_n_s32(folded);
  }
  const auto widen = [&] {
#pragma GCC unroll 2
    for (int32_t v = 0; v < Vectors; ++v) {
      sums[v][0] = vaddw_s16(sums[v][0], vget_low_s16(low[v]));
      sums[v][1] = vaddw_s16(sums[v][1], vget_high_s16(low[v]));
      sums[v][2] = vaddw_s16(sums[v][2], vget_low_s16(high[v]));
      sums[v][3] = vaddw_s16(sums[v][3], vget_high_s16(high[v]));
      low[v] = high[v] = vdupq_n_s16(0);
    }
  };
  int32_t left = kShortTaps;
  for_each_tap(taps, [&](ptrdiff_t offset) {
#pragma GCC unroll 2
    for (int32_t v = 0; v < Vectors; ++v) {
      const int8x16_t codes = load_some(x + offset + 16 * v, count);
      low[v] = vaddw_s8(low[v], vget_low_s8(codes));
      high[v] = vaddw_s8(high[v], vget_high_s8(codes));
    }
    if (--left > 0) return;
    left = kShortTaps;
    widen();
  });
  widen();
  const float32x4_t factor = vdupq_n_f32(multiplier);
#pragma GCC unroll 2
  for (int32_t v = 0; v < Vectors; ++v)
    store_some(y + 16 * v,
               requantize_neon(sums[v][0], sums[v][1], sums[v][2], sums[v][3], factor, factor, factor, factor,
                               output),
               count);
}

template <int32_t Vectors>
void maximum(const int8_t* x, const Taps& taps, int8x16_t lo, int8x16_t hi, int8_t* y, int32_t count) {
  int8x16_t best[Vectors];
#pragma GCC unroll 2
  for (int32_t v = 0; v < Vectors; ++v) best[v] = lo;
  for_each_tap(taps, [&](ptrdiff_t offset) {
#pragma GCC unroll 2
    for (int32_t v = 0; v < Vectors; ++v) best[v] = vmaxq_s8(best[v], load_some(x + offset + 16 * v, count));
  });
#pragma GCC unroll 2
  for (int32_t v = 0; v < Vectors; ++v) store_some(y + 16 * v, vminq_s8(best[v], hi), count);
}

}  // namespace

AverageS8 average_s8_neon;
MaxS8 max_s8_neon;

void average_s8_neon(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier,
                     const OutputS8& output, int8_t* y, int32_t channels) {
  const int32_t folded = -taps_count(taps) * x_zero_point;
  const OutputNeon o = make_output_neon(output);
  if (channels < 16) return average<1>(x, taps, folded, multiplier, o, y, channels);
  int32_t c = 0;
  for (; c + 32 <= channels; c += 32) average<2>(x + c, taps, folded, multiplier, o, y + c, 16);
  for (; c < channels; c += 16) {
    const int32_t from = c + 16 <= channels ? c : channels - 16;
    average<1>(x + from, taps, folded, multiplier, o, y + from, 16);
  }
}

void max_s8_neon(const int8_t* x, const Taps& taps, int32_t zero_point, int32_t lo, int32_t hi, int8_t* y,
                 int32_t channels) {
  if (taps_count(taps) == 0) {
    const int32_t q = zero_point < lo ? lo : zero_point;
    memset(y, q > hi ? hi : q, static_cast<size_t>(channels));
    return;
  }
  const int8x16_t least = vdupq_n_s8(static_cast<int8_t>(lo)), most = vdupq_n_s8(static_cast<int8_t>(hi));
  if (channels < 16) return maximum<1>(x, taps, least, most, y, channels);
  int32_t c = 0;
  for (; c + 32 <= channels; c += 32) maximum<2>(x + c, taps, least, most, y + c, 16);
  for (; c < channels; c += 16) {
    const int32_t from = c + 16 <= channels ? c : channels - 16;
    maximum<1>(x + from, taps, least, most, y + from, 16);
  }
}

}  // namespace intaglio
