// Channels in vectors; the last vector of enough channels overlaps the one before.
#include <cstring>

#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/pool/pool.h"

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

// AArch64: channels in vectors, the last of which overlaps the one before. ARMv7's vectors flush subnormals:
// the scalar kernel serves there.

AverageF32 average_f32_neon, average_f32_scalar;
MaxF32 max_f32_neon, max_f32_scalar;

#if defined(__aarch64__)

namespace {

constexpr int32_t kLanes = 4;

struct TapSum {
  static constexpr bool kAdds = true;
  static float32x4_t start(float32x4_t) { return vdupq_n_f32(0.0f); }
  static float32x4_t next(float32x4_t sum, float32x4_t tap) { return vaddq_f32(sum, tap); }
};

// Meeting the first tap again changes nothing.
struct TapMaximum {
  static constexpr bool kAdds = false;
  static float32x4_t start(float32x4_t first) { return first; }
  static float32x4_t next(float32x4_t best, float32x4_t tap) {
    return vbslq_f32(vcgtq_f32(best, tap), best, tap);
  }
};

// 4 * Vectors channels.
template <typename Fold, int32_t Vectors, typename End>
inline void pool_vectors(const float* x, const Taps& taps, int32_t block, float* y, End end) {
  float32x4_t folded[Vectors];
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) folded[v] = Fold::start(vld1q_f32(x + kLanes * v));
  const auto visit = [&](ptrdiff_t offset) {
#pragma GCC unroll 4
    for (int32_t v = 0; v < Vectors; ++v)
      folded[v] = Fold::next(folded[v], vld1q_f32(x + offset + kLanes * v));
  };
  if (!Fold::kAdds || taps_count(taps) <= block) {
    for_each_tap(taps, visit);
  } else {
    constexpr int32_t kChannels = kLanes * Vectors;
    float levels[kSumLevels * kChannels];
    int32_t blocks = 0;
    const auto add_to_level = [&] {
#pragma GCC unroll 4
      for (int32_t v = 0; v < Vectors; ++v) {
        float* const level = levels + kLanes * v;
        vst1q_f32(level, blocks == 0 ? folded[v] : vaddq_f32(vld1q_f32(level), folded[v]));
        folded[v] = vdupq_n_f32(0.0f);
      }
    };
    for_each_tap(taps, block, visit, [&] {
      add_to_level();
      if (++blocks % kSumBlock == 0) add_block(blocks / kSumBlock, levels, levels + kChannels, kChannels);
    });
    add_to_level();
    add_levels(blocks / kSumBlock, levels, levels + kChannels, kChannels);
    for (int32_t v = 0; v < Vectors; ++v) folded[v] = vld1q_f32(levels + kLanes * v);
  }
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) vst1q_f32(y + kLanes * v, end(folded[v]));
}

// A vector of channels at least.
template <typename Fold, typename End>
__attribute__((noinline)) void pool_channels(const float* x, const Taps& taps, int32_t block, float* y,
                                             int32_t channels, End end) {
  int32_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) pool_vectors<Fold, 4>(x + c, taps, block, y + c, end);
  for (; c < channels; c += kLanes) {
    const int32_t from = c + kLanes <= channels ? c : channels - kLanes;
    pool_vectors<Fold, 1>(x + from, taps, block, y + from, end);
  }
}

bool in_vectors(const Taps& taps, int32_t channels) { return channels >= kLanes && taps_count(taps) > 0; }

}  // namespace

void average_f32_neon(const float* x, const Taps& taps, int32_t block, int32_t n, const ClampF32& clamp,
                      float* y, int32_t channels) {
  if (!in_vectors(taps, channels)) return average_f32_scalar(x, taps, block, n, clamp, y, channels);
  const DefaultNan mode;
  const FinishF32 finish(clamp);
  const float32x4_t divisor = vdupq_n_f32(static_cast<float>(n));
  pool_channels<TapSum>(x, taps, block, y, channels,
                        [&](float32x4_t sum) { return finish(vdivq_f32(sum, divisor)); });
}

void max_f32_neon(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  if (!in_vectors(taps, channels)) return max_f32_scalar(x, taps, clamp, y, channels);
  const DefaultNan mode;
  pool_channels<TapMaximum>(x, taps, kOneBlock, y, channels, FinishF32(clamp));
}

#else

void average_f32_neon(const float* x, const Taps& taps, int32_t block, int32_t n, const ClampF32& clamp,
                      float* y, int32_t channels) {
  average_f32_scalar(x, taps, block, n, clamp, y, channels);
}

void max_f32_neon(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  max_f32_scalar(x, taps, clamp, y, channels);
}

#endif

// Channels in vectors; the last vector of enough channels overlaps the one before.

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
