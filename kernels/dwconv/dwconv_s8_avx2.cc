#include "kernels/dwconv/dwconv_s8_blocks_avx2.h"

namespace intaglio {
namespace {

inline __m256i requantize(__m256i acc, __m256 multiplier, const OutputS8& output) {
  __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier);
  v = _mm256_max_ps(v, _mm256_set1_ps(output.lo_minus_zero_point));
  v = _mm256_min_ps(v, _mm256_set1_ps(output.hi_minus_zero_point));
  return _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(output.zero_point));
}

// Sixteen int32 codes, in order, to int8.
inline __m128i narrow(__m256i q0, __m256i q1) {
  const __m256i q = _mm256_permute4x64_epi64(_mm256_packs_epi32(q0, q1), 0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
}

}  // namespace

void dwconv_s8_avx2(const DwconvS8Args& args);

void dwconv_s8_avx2(const DwconvS8Args& args) {
  for_blocks(
      args, [&](int32_t p, int32_t first, int32_t count, __m256i acc0, __m256 m0, __m256i acc1, __m256 m1) {
        const __m128i codes = narrow(requantize(acc0, m0, args.requant), requantize(acc1, m1, args.requant));
        int8_t* const y = args.output + static_cast<size_t>(p) * args.output_stride + first;
        if (count == kBlock) {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(y), codes);
        } else {
          alignas(16) int8_t all[kBlock];
          _mm_store_si128(reinterpret_cast<__m128i*>(all), codes);
          memcpy(y, all, static_cast<size_t>(count));
        }
      });
}

}  // namespace intaglio
