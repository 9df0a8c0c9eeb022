// 32 at a time; the last ones overlap those before.
#include <immintrin.h>

#include "kernels/quantize/quantize_s8_runs.h"

namespace intaglio {

void quantize_s8_avx2(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n);
void dequantize_s8_avx2(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);

namespace {

constexpr int32_t kLanes = 32;

}  // namespace

void quantize_s8_avx2(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n) {
  if (n < kLanes) return quantize_s8_scalar(x, scale, output, y, n);
  const __m256 divisor = _mm256_set1_ps(scale), lo = _mm256_set1_ps(output.lo_minus_zero_point),
               hi = _mm256_set1_ps(output.hi_minus_zero_point);
  const __m256i zero_point = _mm256_set1_epi32(output.zero_point);
  const auto codes = [&](const float* from) {
    const __m256 v = _mm256_div_ps(_mm256_loadu_ps(from), divisor);
    const __m256i q = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(v, lo), hi));
    // NaN becomes 0 before the zero point is added.
    return _mm256_add_epi32(_mm256_and_si256(q, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_ORD_Q))),
                            zero_point);
  };
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for_each_run<kLanes>(n, [&](ptrdiff_t i) {
    const __m256i first = _mm256_packs_epi32(codes(x + i), codes(x + i + 8)),
                  second = _mm256_packs_epi32(codes(x + i + 16), codes(x + i + 24));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                        _mm256_permutevar8x32_epi32(_mm256_packs_epi16(first, second), order));
  });
}

void dequantize_s8_avx2(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n) {
  if (n < kLanes) return dequantize_s8_scalar(x, scale, zero_point, y, n);
  const __m256i zero = _mm256_set1_epi32(zero_point);
  const __m256 factor = _mm256_set1_ps(scale);
  for_each_run<kLanes>(n, [&](ptrdiff_t i) {
#pragma GCC unroll 4
    for (ptrdiff_t j = 0; j < kLanes; j += 8) {
      const __m128i q = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + i + j));
      const __m256 v = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepi8_epi32(q), zero));
      _mm256_storeu_ps(y + i + j, _mm256_mul_ps(v, factor));
    }
  });
}

}  // namespace intaglio
