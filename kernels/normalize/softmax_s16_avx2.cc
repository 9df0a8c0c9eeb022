// Eight codes at a time: two gathers, and their products in halves of 64 bits.
#include <immintrin.h>

#include "kernels/normalize/softmax_s16.h"

namespace intaglio {
namespace {

constexpr int32_t kLanes = 8;

inline __m256i load8(const int16_t* p) {
  return _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

inline __m256i shifted(__m256i product) {
  return _mm256_srli_epi64(_mm256_add_epi64(product, _mm256_set1_epi64x(1 << 29)), 30);
}

// softmax_entry_s16 of eight.
inline __m256i entries(const int32_t* table, __m256i largest, const int16_t* x) {
  const __m256i d = _mm256_sub_epi32(largest, load8(x));
  const __m256i a = _mm256_i32gather_epi32(table, _mm256_srli_epi32(d, 8), 4);
  const __m256i b = _mm256_i32gather_epi32(table + 256, _mm256_and_si256(d, _mm256_set1_epi32(255)), 4);
  const __m256i even = shifted(_mm256_mul_epu32(a, b));
  const __m256i odd = shifted(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)));
  return _mm256_or_si256(even, _mm256_slli_epi64(odd, 32));  // an entry has 31 bits at most
}

}  // namespace

void softmax_s16_avx2(const int16_t* x, const int32_t* table, float reciprocal_scale, int16_t* y, int32_t n) {
  if (n < kLanes) return softmax_s16_scalar(x, table, reciprocal_scale, y, n);
  const int32_t whole = n / kLanes * kLanes;
  __m256i most = load8(x + n - kLanes);  // meeting some of them again changes nothing
  for (int32_t i = 0; i < whole; i += kLanes) most = _mm256_max_epi32(most, load8(x + i));
  alignas(32) int32_t lanes[kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), most);
  int32_t largest = lanes[0];
  for (const int32_t lane : lanes) largest = largest > lane ? largest : lane;
  most = _mm256_set1_epi32(largest);

  __m256i sums = _mm256_setzero_si256();
  for (int32_t i = 0; i < whole; i += kLanes) sums = _mm256_add_epi32(sums, entries(table, most, x + i));
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
  int32_t sum = 0;
  for (const int32_t lane : lanes) sum += lane;
  for (int32_t i = whole; i < n; ++i) sum += softmax_entry_s16(table, largest - x[i]);

  const float r = reciprocal_scale / static_cast<float>(sum);
  const __m256 factor = _mm256_set1_ps(r), hi = _mm256_set1_ps(32767.0f);  // none is negative
  for (int32_t i = 0; i < whole; i += kLanes) {
    const __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(entries(table, most, x + i)), factor);
    const __m256i q = _mm256_cvtps_epi32(_mm256_min_ps(v, hi));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
  }
  const OutputS16 output = make_output_s16(-32768, 32767);
  for (int32_t i = whole; i < n; ++i)
    y[i] = requantize_s16(softmax_entry_s16(table, largest - x[i]), r, output);
}

}  // namespace intaglio
