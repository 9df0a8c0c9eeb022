// Channels in vectors; the last vector of enough channels overlaps the one before.
#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/pool/pool_s8.h"

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

}  // namespace intaglio
