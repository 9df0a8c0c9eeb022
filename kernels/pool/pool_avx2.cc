// Channels in vectors; the last vector of enough channels overlaps the one before.
#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/pool/pool.h"

namespace intaglio {
namespace {

inline __m256i load_32(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

// Sixteen channels, or the first `count` of them.
void average_16(const int8_t* x, const Taps& taps, int32_t folded, float scale, const OutputS8& output,
                int8_t* y, int32_t count) {
  const __m256 multiplier = _mm256_set1_ps(scale);
  __m256i low = _mm256_set1_epi32(folded), high = low;
  for_each_tap(taps, [&](ptrdiff_t offset) {
    const __m128i codes = avx2_load_some(x + offset, count);
    low = _mm256_add_epi32(low, _mm256_cvtepi8_epi32(codes));
    high = _mm256_add_epi32(high, _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(codes, codes)));
  });
  const __m256i words =
      _mm256_packs_epi32(avx2_requantize(low, multiplier, output), avx2_requantize(high, multiplier, output));
  const __m256i q = _mm256_permute4x64_epi64(words, 0xd8);
  avx2_store_some(y, _mm_packs_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)), count);
}

// Fewer than eight channels.
void max_some(const int8_t* x, const Taps& taps, __m128i lo, __m128i hi, int8_t* y, int32_t count) {
  __m128i best = lo;
  for_each_tap(taps, [&](ptrdiff_t offset) { best = _mm_max_epi8(best, avx2_load_some(x + offset, count)); });
  avx2_store_some(y, _mm_min_epi8(best, hi), count);
}

// Two vectors of channels, from 0 and from `second` on.
void max_two_8(const int8_t* x, ptrdiff_t second, const Taps& taps, __m128i lo, __m128i hi, int8_t* y) {
  const auto load = [](const int8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); };
  __m128i best = lo;
  for_each_tap(taps, [&](ptrdiff_t offset) {
    best = _mm_max_epi8(best, _mm_unpacklo_epi64(load(x + offset), load(x + offset + second)));
  });
  best = _mm_min_epi8(best, hi);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), best);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y + second), _mm_unpackhi_epi64(best, best));
}

void max_two_16(const int8_t* x, ptrdiff_t second, const Taps& taps, __m128i lo, __m128i hi, int8_t* y) {
  const auto load = [](const int8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  __m128i best[2] = {lo, lo};
  for_each_tap(taps, [&](ptrdiff_t offset) {
    best[0] = _mm_max_epi8(best[0], load(x + offset));
    best[1] = _mm_max_epi8(best[1], load(x + offset + second));
  });
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_min_epi8(best[0], hi));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y + second), _mm_min_epi8(best[1], hi));
}

void max_two_32(const int8_t* x, ptrdiff_t second, const Taps& taps, __m256i lo, __m256i hi, int8_t* y) {
  __m256i best[2] = {lo, lo};
  for_each_tap(taps, [&](ptrdiff_t offset) {
    best[0] = _mm256_max_epi8(best[0], load_32(x + offset));
    best[1] = _mm256_max_epi8(best[1], load_32(x + offset + second));
  });
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_min_epi8(best[0], hi));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + second), _mm256_min_epi8(best[1], hi));
}

}  // namespace

AverageS8 average_s8_avx2;
MaxS8 max_s8_avx2;

void average_s8_avx2(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier,
                     const OutputS8& output, int8_t* y, int32_t channels) {
  const int32_t folded = -taps_count(taps) * x_zero_point;
  if (channels < 16) return average_16(x, taps, folded, multiplier, output, y, channels);
  for (int32_t c = 0; c < channels; c += 16) {
    const int32_t from = c + 16 <= channels ? c : channels - 16;
    average_16(x + from, taps, folded, multiplier, output, y + from, 16);
  }
}

void max_s8_avx2(const int8_t* x, const Taps& taps, int32_t zero_point, int32_t lo, int32_t hi, int8_t* y,
                 int32_t channels) {
  if (taps_count(taps) == 0) {
    const int32_t q = zero_point < lo ? lo : zero_point;
    memset(y, q > hi ? hi : q, static_cast<size_t>(channels));
    return;
  }
  const __m256i least = _mm256_set1_epi8(static_cast<int8_t>(lo));
  const __m256i most = _mm256_set1_epi8(static_cast<int8_t>(hi));
  const __m128i least_16 = _mm256_castsi256_si128(least), most_16 = _mm256_castsi256_si128(most);
  if (channels < 8) return max_some(x, taps, least_16, most_16, y, channels);
  if (channels < 16) return max_two_8(x, channels - 8, taps, least_16, most_16, y);
  if (channels < 32) return max_two_16(x, channels - 16, taps, least_16, most_16, y);
  for (int32_t c = 0; c < channels; c += 64) {
    const int32_t from = c + 32 <= channels ? c : channels - 32, left = channels - 32 - from;
    max_two_32(x + from, left < 32 ? left : 32, taps, least, most, y + from);
  }
}

namespace {

constexpr int32_t kLanes = 8;

struct Sum {
  static constexpr bool kAdds = true;
  static __m256 start(__m256) { return _mm256_setzero_ps(); }
  static __m256 next(__m256 sum, __m256 tap) { return _mm256_add_ps(sum, tap); }
};

// maxps gives its second operand where one is a NaN. Meeting the first tap again changes nothing.
struct Largest {
  static constexpr bool kAdds = false;
  static __m256 start(__m256 first) { return first; }
  static __m256 next(__m256 best, __m256 tap) { return _mm256_max_ps(best, tap); }
};

// 32 channels in four vectors, or the first `count` of sixteen in two.
template <typename Fold, int32_t Vectors, typename End>
void pool_some(const float* x, const Taps& taps, int32_t block, float* y, int32_t count, End end) {
  constexpr bool kWhole = Vectors == 4;
  const __m256i masks[4] = {first_lanes(count), first_lanes(count - kLanes)};
  const auto load = [&](const float* from, int32_t v) {
    return kWhole ? _mm256_loadu_ps(from + kLanes * v) : _mm256_maskload_ps(from + kLanes * v, masks[v]);
  };
  __m256 folded[Vectors];
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) folded[v] = Fold::start(load(x, v));
  const auto visit = [&](ptrdiff_t offset) {
#pragma GCC unroll 4
    for (int32_t v = 0; v < Vectors; ++v) folded[v] = Fold::next(folded[v], load(x + offset, v));
  };
  if constexpr (!Fold::kAdds) {
    for_each_tap(taps, visit);
  } else {
    constexpr int32_t kChannels = kLanes * Vectors;
    float levels[kSumLevels * kChannels];
    int32_t blocks = 0;
    const auto add_to_level = [&] {
#pragma GCC unroll 4
      for (int32_t v = 0; v < Vectors; ++v) {
        float* const level = levels + kLanes * v;
        _mm256_storeu_ps(level, blocks == 0 ? folded[v] : _mm256_add_ps(_mm256_loadu_ps(level), folded[v]));
        folded[v] = _mm256_setzero_ps();
      }
    };
    for_each_tap(taps, block, visit, [&] {
      add_to_level();
      if (++blocks % kSumBlock == 0) add_block(blocks / kSumBlock, levels, levels + kChannels, kChannels);
    });
    if (blocks > 0) {
      add_to_level();
      add_levels(blocks / kSumBlock, levels, levels + kChannels, kChannels);
      for (int32_t v = 0; v < Vectors; ++v) folded[v] = _mm256_loadu_ps(levels + kLanes * v);
    }
  }
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) {
    if (kWhole) {
      _mm256_storeu_ps(y + kLanes * v, end(folded[v]));
    } else {
      _mm256_maskstore_ps(y + kLanes * v, masks[v], end(folded[v]));
    }
  }
}

template <typename Fold, typename End>
void all_channels(const float* x, const Taps& taps, int32_t block, float* y, int32_t channels, End end) {
  int32_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) pool_some<Fold, 4>(x + c, taps, block, y + c, 0, end);
  for (; c < channels; c += 2 * kLanes) pool_some<Fold, 2>(x + c, taps, block, y + c, channels - c, end);
}

}  // namespace

AverageF32 average_f32_avx2;
MaxF32 max_f32_avx2;

void average_f32_avx2(const float* x, const Taps& taps, int32_t block, int32_t n, const ClampF32& clamp,
                      float* y, int32_t channels) {
  const FinishF32 finish(clamp);
  if (taps_count(taps) == 0) {
    for (int32_t c = 0; c < channels; ++c) y[c] = finish_f32(0.0f, clamp);
    return;
  }
  const __m256 divisor = _mm256_set1_ps(static_cast<float>(n));
  all_channels<Sum>(x, taps, block, y, channels,
                    [&](__m256 sum) { return finish(_mm256_div_ps(sum, divisor)); });
}

void max_f32_avx2(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  const FinishF32 finish(clamp);
  if (taps_count(taps) == 0) {
    for (int32_t c = 0; c < channels; ++c) y[c] = finish_f32(0.0f, clamp);
    return;
  }
  all_channels<Largest>(x, taps, kOneBlock, y, channels, finish);
}

// Channels in vectors; the last vector of enough channels overlaps the one before.

namespace {

// Sixteen channels, or the first `count` of them.
void mean_16(const int8_t* x, const Taps& taps, int32_t folded, float scale, float* y, int32_t count) {
  const __m256 multiplier = _mm256_set1_ps(scale);
  __m256i low = _mm256_set1_epi32(folded), high = low;
  for_each_tap(taps, [&](ptrdiff_t offset) {
    const __m128i codes = avx2_load_some(x + offset, count);
    low = _mm256_add_epi32(low, _mm256_cvtepi8_epi32(codes));
    high = _mm256_add_epi32(high, _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(codes, codes)));
  });
  const __m256 means[2] = {_mm256_mul_ps(_mm256_cvtepi32_ps(low), multiplier),
                           _mm256_mul_ps(_mm256_cvtepi32_ps(high), multiplier)};
  if (count < 16) {
    memcpy(y, means, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  _mm256_storeu_ps(y, means[0]);
  _mm256_storeu_ps(y + 8, means[1]);
}

}  // namespace

MeanS8F32 mean_s8_f32_avx2;

void mean_s8_f32_avx2(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier, float* y,
                      int32_t channels) {
  const int32_t folded = -taps_count(taps) * x_zero_point;
  if (channels < 16) return mean_16(x, taps, folded, multiplier, y, channels);
  for (int32_t c = 0; c < channels; c += 16) {
    const int32_t from = c + 16 <= channels ? c : channels - 16;
    mean_16(x + from, taps, folded, multiplier, y + from, 16);
  }
}

}  // namespace intaglio
