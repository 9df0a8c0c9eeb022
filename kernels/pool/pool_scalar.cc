// The lists of pools and means, and the scalar kernels.
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/pool/pool.h"

namespace intaglio {

#define ITG_POOL_S8(isa)      \
  AverageS8 average_s8_##isa; \
  MaxS8 max_s8_##isa;
#include "kernels/pool/pool_s8_kernels.inc"
#undef ITG_POOL_S8

namespace {

#define ITG_POOL_S8(isa)                 \
  ITG_KERNEL(PoolS8Kernel, pool_s8, isa, \
             ITG_COMPILED(isa, k.average = average_s8_##isa; k.max = max_s8_##isa;))
constexpr PoolS8Kernel kPoolS8Kernels[] = {
#include "kernels/pool/pool_s8_kernels.inc"
};
#undef ITG_POOL_S8

}  // namespace

ITG_KERNEL_LIST(PoolS8Kernel, pool_s8, kPoolS8Kernels)
ITG_FIRST_ALLOWED(pool_s8, kPoolS8Kernels)

namespace {

// Channels of one pass over the taps: their sums stay in registers or close by.
constexpr int32_t kBlock = 32;
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
constexpr int32_t kSumsBlock = 4;  // in registers by name: gcc keeps no array there at -Os
#else
constexpr int32_t kSumsBlock = kBlock;
#endif

// `Channels` is kBlock where the loops are to be unrolled, 0 where `some` says how many there are.
template <int32_t Channels>
inline void average_block(const int8_t* x, const Taps& taps, int32_t folded, float multiplier,
                          const OutputS8& output, int8_t* y, int32_t some) {
  const int32_t channels = Channels > 0 ? Channels : some;
  int32_t acc[kBlock];
  if constexpr (Channels == 4) {
    int32_t acc0 = folded, acc1 = folded, acc2 = folded, acc3 = folded;
    for (int32_t i = taps.count[0]; i > 0; --i, x += taps.step[0]) {
      const int8_t* line = x;
      for (int32_t j = taps.count[1]; j > 0; --j, line += taps.step[1]) {
        const int8_t* tap = line;
        for (int32_t k = taps.count[2]; k > 0; --k, tap += taps.step[2]) {
          acc0 += tap[0];
          acc1 += tap[1];
          acc2 += tap[2];
          acc3 += tap[3];
        }
      }
    }
    const int32_t sums[] = {acc0, acc1, acc2, acc3};
    memcpy(acc, sums, sizeof sums);
  } else {
    for (int32_t c = 0; c < channels; ++c) acc[c] = folded;
    for_each_tap(taps, [&](ptrdiff_t offset) {
      const int8_t* const tap = x + offset;
      for (int32_t c = 0; c < channels; ++c) acc[c] += tap[c];
    });
  }
  for (int32_t c = 0; c < channels; ++c) y[c] = requantize_s8(acc[c], multiplier, output);
}

template <int32_t Channels>
inline void max_block(const int8_t* x, const Taps& taps, int32_t lo, int32_t hi, int8_t* y, int32_t some) {
  const int32_t channels = Channels > 0 ? Channels : some;
  int8_t best[kBlock];
  for (int32_t c = 0; c < channels; ++c) best[c] = -128;
  for_each_tap(taps, [&](ptrdiff_t offset) {
    const int8_t* const tap = x + offset;
    for (int32_t c = 0; c < channels; ++c) best[c] = best[c] > tap[c] ? best[c] : tap[c];
  });
  for (int32_t c = 0; c < channels; ++c) {
    const int32_t q = best[c] < lo ? lo : best[c];
    y[c] = static_cast<int8_t>(q > hi ? hi : q);
  }
}

}  // namespace

AverageS8 average_s8_scalar;
MaxS8 max_s8_scalar;

void average_s8_scalar(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier,
                       const OutputS8& output, int8_t* y, int32_t channels) {
  // The zero point of every tap, ahead of them: each partial sum lies within taps * 255 on both sides.
  const int32_t folded = -taps_count(taps) * x_zero_point;
  int32_t c = 0;
  for (; c + kSumsBlock <= channels; c += kSumsBlock)
    average_block<kSumsBlock>(x + c, taps, folded, multiplier, output, y + c, 0);
  if (c < channels) average_block<0>(x + c, taps, folded, multiplier, output, y + c, channels - c);
}

void max_s8_scalar(const int8_t* x, const Taps& taps, int32_t zero_point, int32_t lo, int32_t hi, int8_t* y,
                   int32_t channels) {
  if (taps_count(taps) == 0) {
    const int32_t q = zero_point < lo ? lo : zero_point;
    memset(y, q > hi ? hi : q, static_cast<size_t>(channels));
    return;
  }
  int32_t c = 0;
  for (; c + kBlock <= channels; c += kBlock) max_block<kBlock>(x + c, taps, lo, hi, y + c, 0);
  if (c < channels) max_block<0>(x + c, taps, lo, hi, y + c, channels - c);
}

#define ITG_POOL_F32(isa)       \
  AverageF32 average_f32_##isa; \
  MaxF32 max_f32_##isa;
#include "kernels/pool/pool_f32_kernels.inc"
#undef ITG_POOL_F32

namespace {

#define ITG_POOL_F32(isa)                  \
  ITG_KERNEL(PoolF32Kernel, pool_f32, isa, \
             ITG_COMPILED(isa, k.average = average_f32_##isa; k.max = max_f32_##isa;))
constexpr PoolF32Kernel kPoolF32Kernels[] = {
#include "kernels/pool/pool_f32_kernels.inc"
};
#undef ITG_POOL_F32

}  // namespace

ITG_KERNEL_LIST(PoolF32Kernel, pool_f32, kPoolF32Kernels)
ITG_FIRST_ALLOWED(pool_f32, kPoolF32Kernels)

namespace {

constexpr int32_t kBlockF32 = 16;

// `Channels` is kBlockF32 where the loops are to be unrolled, 0 where `some` says how many there are.
template <int32_t Channels>
inline void average_block(const float* x, const Taps& taps, int32_t block, float n, const ClampF32& clamp,
                          float* y, int32_t some) {
  const int32_t channels = Channels > 0 ? Channels : some;
  float sum[kBlockF32], levels[kSumLevels * kBlockF32];
  int32_t blocks = 0;
  for (int32_t c = 0; c < channels; ++c) sum[c] = 0.0f;
  for_each_tap(
      taps, block,
      [&](ptrdiff_t offset) {
        const float* const tap = x + offset;
        for (int32_t c = 0; c < channels; ++c) sum[c] += tap[c];
      },
      [&] { add_block(++blocks, sum, levels, channels); });
  add_levels(blocks, sum, levels, channels);
  for (int32_t c = 0; c < channels; ++c) y[c] = finish_f32(sum[c] / n, clamp);
}

template <int32_t Channels>
inline void max_block(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t some) {
  const int32_t channels = Channels > 0 ? Channels : some;
  float best[kBlockF32];
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

void average_f32_scalar(const float* x, const Taps& taps, int32_t block, int32_t n, const ClampF32& clamp,
                        float* y, int32_t channels) {
  if (taps_count(taps) == 0) return fill(finish_f32(0.0f, clamp), y, channels);
  int32_t c = 0;
  for (; c + kBlockF32 <= channels; c += kBlockF32)
    average_block<kBlockF32>(x + c, taps, block, static_cast<float>(n), clamp, y + c, 0);
  if (c < channels) average_block<0>(x + c, taps, block, static_cast<float>(n), clamp, y + c, channels - c);
}

void max_f32_scalar(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  if (taps_count(taps) == 0) return fill(finish_f32(0.0f, clamp), y, channels);
  int32_t c = 0;
  for (; c + kBlockF32 <= channels; c += kBlockF32) max_block<kBlockF32>(x + c, taps, clamp, y + c, 0);
  if (c < channels) max_block<0>(x + c, taps, clamp, y + c, channels - c);
}

#define ITG_MEAN_S8_F32(isa) MeanS8F32 mean_s8_f32_##isa;
#include "kernels/pool/mean_s8_f32_kernels.inc"
#undef ITG_MEAN_S8_F32

namespace {

#define ITG_MEAN_S8_F32(isa) \
  ITG_KERNEL(MeanS8F32Kernel, mean_s8_f32, isa, ITG_COMPILED(isa, k.function = mean_s8_f32_##isa;))
constexpr MeanS8F32Kernel kMeanS8F32Kernels[] = {
#include "kernels/pool/mean_s8_f32_kernels.inc"
};
#undef ITG_MEAN_S8_F32

}  // namespace

ITG_KERNEL_LIST(MeanS8F32Kernel, mean_s8_f32, kMeanS8F32Kernels)
ITG_FIRST_ALLOWED(mean_s8_f32, kMeanS8F32Kernels)

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
