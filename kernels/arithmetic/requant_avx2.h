// requant.h on eight lanes, for kernels of AVX2 and later. `inline` would leave weak symbols:
// static.
#pragma once

#include <immintrin.h>

#include "kernels/arithmetic/requant.h"

namespace intaglio {

// Eight codes, as int32.
static inline __m256i avx2_requantize(__m256i acc, __m256 multiplier, const OutputS8& output) {
  __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier);
  v = _mm256_max_ps(v, _mm256_set1_ps(output.lo_minus_zero_point));
  v = _mm256_min_ps(v, _mm256_set1_ps(output.hi_minus_zero_point));
  return _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(output.zero_point));
}

// add_s8 on sixteen codes, the first ones as int16. `p` by value where codes are stored in between: they may
// alias what is not.
static inline __m128i avx2_add(__m256i codes, __m128i others, const AddS8& p) {
  // vpmaddwd takes 16 bits: longer multipliers are cut in two.
  const bool cut = ((p.a_multiplier | p.b_multiplier) >> 15) != 0;
  const int32_t low_bits = cut ? 255 : 32767;
  const __m256i low_factors =
      _mm256_set1_epi32((p.b_multiplier & low_bits) * 65536 + (p.a_multiplier & low_bits));
  const __m256i high_factors =
      _mm256_set1_epi32((p.b_multiplier >> 8) * 65536 + ((p.a_multiplier >> 8) & 65535));
  const __m256i offset = _mm256_set1_epi32((int32_t{1} << (p.right_shift - 1)) -
                                           p.a_zero_point * p.a_multiplier - p.b_zero_point * p.b_multiplier);
  const __m128i shift = _mm_cvtsi32_si128(p.right_shift);
  const __m256i b = _mm256_cvtepi8_epi16(others);
  const __m256i pairs[2] = {_mm256_unpacklo_epi16(codes, b), _mm256_unpackhi_epi16(codes, b)};
  __m256i low = _mm256_add_epi32(_mm256_madd_epi16(pairs[0], low_factors), offset);
  __m256i high = _mm256_add_epi32(_mm256_madd_epi16(pairs[1], low_factors), offset);
  if (cut) {
    low = _mm256_add_epi32(low, _mm256_slli_epi32(_mm256_madd_epi16(pairs[0], high_factors), 8));
    high = _mm256_add_epi32(high, _mm256_slli_epi32(_mm256_madd_epi16(pairs[1], high_factors), 8));
  }
  const __m256i sums =
      _mm256_adds_epi16(_mm256_packs_epi32(_mm256_sra_epi32(low, shift), _mm256_sra_epi32(high, shift)),
                        _mm256_set1_epi16(static_cast<int16_t>(p.zero_point)));
  const __m128i q = _mm_packs_epi16(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return _mm_min_epi8(_mm_max_epi8(q, _mm_set1_epi8(static_cast<int8_t>(p.lo))),
                      _mm_set1_epi8(static_cast<int8_t>(p.hi)));
}

// requantize_s8 of the products of sixteen differences, in [-255, 255].
static inline __m128i avx2_mul(__m128i codes, __m128i others, int32_t zero_point, int32_t other_zero_point,
                               float multiplier, const OutputS8& output) {
  const __m256i a =
      _mm256_sub_epi16(_mm256_cvtepi8_epi16(codes), _mm256_set1_epi16(static_cast<int16_t>(zero_point)));
  const __m256i b = _mm256_sub_epi16(_mm256_cvtepi8_epi16(others),
                                     _mm256_set1_epi16(static_cast<int16_t>(other_zero_point)));
  const __m256i zero = _mm256_setzero_si256();
  const __m256 factor = _mm256_set1_ps(multiplier);
  const auto half = [&](__m256i x, __m256i y) {
    return avx2_requantize(_mm256_madd_epi16(x, y), factor, output);
  };
  const __m256i q = _mm256_packs_epi32(half(_mm256_unpacklo_epi16(a, zero), _mm256_unpacklo_epi16(b, zero)),
                                       half(_mm256_unpackhi_epi16(a, zero), _mm256_unpackhi_epi16(b, zero)));
  return _mm_packs_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
}

// Sixteen codes, of which `count` are read or written.
static inline __m128i avx2_load_some(const int8_t* p, int32_t count) {
  if (count == 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if (count == 8) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  alignas(16) int8_t some[16] = {};
  memcpy(some, p, static_cast<size_t>(count));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(some));
}
static inline void avx2_store_some(int8_t* p, __m128i codes, int32_t count) {
  if (count == 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), codes);
  if (count == 8) return _mm_storel_epi64(reinterpret_cast<__m128i*>(p), codes);
  alignas(16) int8_t some[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(some), codes);
  memcpy(p, some, static_cast<size_t>(count));
}

}  // namespace intaglio
