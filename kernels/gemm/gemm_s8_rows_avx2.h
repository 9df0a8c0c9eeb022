// How the GEMM kernels on 256 bits store sixteen columns of sums, in the order of `lanes` 8 (gemm_s8.h).
#pragma once

#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/gemm/gemm_s8.h"
#include "kernels/gemm/gemm_s8_f32.h"

namespace intaglio {

inline constexpr int32_t kAvx2Columns = 16;

// `sums` of args.m rows of one panel, two vectors each, to codes. One function for all row counts: its size
// matters more than the trip through memory. Clamping follows rounding: limits are integers, so nothing
// differs. But where a multiplier is 1 and more a product may pass what int32 holds (too small becomes its
// least value of itself): such sums are replaced by what they round to, clamped from above, ahead of the
// rest.
__attribute__((noinline)) static void avx2_store_rows(const GemmS8Args& args, int32_t first,
                                                      const int8_t* multiplier, __m256i* sums) {
  const int32_t columns = args.n - first < kAvx2Columns ? args.n - first : kAvx2Columns;
  __m256 m0 = _mm256_loadu_ps(reinterpret_cast<const float*>(multiplier));
  __m256 m1 = _mm256_loadu_ps(reinterpret_cast<const float*>(multiplier) + 8);
  const auto round = [](__m256i sum, __m256 m) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), m));
  };
  const __m256 one = _mm256_set1_ps(1.0f);
  if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(m0, m1), one, _CMP_GE_OQ)) != 0) {
    const __m256 highest = _mm256_set1_ps(args.requant.hi_minus_zero_point);
    for (int32_t i = 0; i < 2 * args.m; ++i)
      sums[i] = _mm256_cvtps_epi32(
          _mm256_min_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums[i]), (i & 1) != 0 ? m1 : m0), highest));
    m0 = m1 = one;
  }
  const __m256i zero_point = _mm256_set1_epi16(static_cast<int16_t>(args.requant.zero_point));
  const auto lo = static_cast<int32_t>(args.requant.lo_minus_zero_point) + args.requant.zero_point;
  const auto hi = static_cast<int32_t>(args.requant.hi_minus_zero_point) + args.requant.zero_point;
  const __m256i lowest = _mm256_set1_epi16(static_cast<int16_t>(lo));
  const __m256i highest = _mm256_set1_epi16(static_cast<int16_t>(hi));
  const int8_t* from = args.residual != nullptr ? args.residual + first : nullptr;
  const AddS8 add = from != nullptr ? *args.add : AddS8{};
  int8_t* to = args.output + first;
  for (int32_t r = 0; r < args.m; ++r, sums += 2, to += args.output_stride) {
    __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(round(sums[0], m0), round(sums[1], m1)), zero_point);
    words = _mm256_min_epi16(_mm256_max_epi16(words, lowest), highest);
    __m128i codes;
    if (from != nullptr) {
      codes = avx2_add(words, avx2_load_some(from, columns), add);
      from += args.residual_stride;
    } else {
      codes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    }
    avx2_store_some(to, codes, columns);
  }
}

// The same to reals.
__attribute__((noinline, unused)) static void avx2_store_reals(const GemmS8F32Args& args, int32_t first,
                                                               const int8_t* multipliers,
                                                               const __m256i* sums) {
  const int32_t columns = args.n - first;
  const __m256 m0 = _mm256_loadu_ps(reinterpret_cast<const float*>(multipliers));
  const __m256 m1 = _mm256_loadu_ps(reinterpret_cast<const float*>(multipliers) + 8);
  const FinishSums real(args.clamp);
  const __m256i low_lanes = first_lanes(columns), high_lanes = first_lanes(columns - 8);
  float* y = args.y + first;
  for (int32_t r = 0; r < args.m; ++r, sums += 2, y += args.y_stride) {
    const __m256 a = real(sums[0], m0), b = real(sums[1], m1);
    const __m256 low = _mm256_permute2f128_ps(a, b, 0x20), high = _mm256_permute2f128_ps(a, b, 0x31);
    if (columns >= 16) {
      _mm256_storeu_ps(y, low);
      _mm256_storeu_ps(y + 8, high);
    } else {
      _mm256_maskstore_ps(y, low_lanes, low);
      if (columns > 8) _mm256_maskstore_ps(y + 8, high_lanes, high);
    }
  }
}

}  // namespace intaglio
