// Softmax of int8, int16 and FP32.
#include <immintrin.h>

#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/normalize/softmax.h"
#include "kernels/normalize/softmax_f32_row.h"

namespace intaglio {

// Sixteen codes at a time. What a row's codes become is a table itself: long rows look it up.

void lookup_s8_avx2(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

namespace {

constexpr int32_t kLanes = 16;
constexpr int32_t kCodes = 256;
constexpr int32_t kLongRow = 2 * kCodes;  // from here on the table is cheaper than what it saves

inline __m128i load16(const int8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

inline int8_t largest_of(const int8_t* x, int32_t n) {
  __m128i most = load16(x + n - kLanes);  // meeting some of them again changes nothing
  for (int32_t i = 0; i + kLanes <= n; i += kLanes) most = _mm_max_epi8(most, load16(x + i));
  alignas(16) int8_t lanes[kLanes];
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), most);
  int8_t largest = lanes[0];
  for (const int8_t lane : lanes) largest = largest > lane ? largest : lane;
  return largest;
}

// The sum of table[largest - x[i]], eight at a time.
struct Entries {
  __m256i low, high;
};
inline Entries entries_of(__m128i x, __m128i largest, const int32_t* table) {
  const __m128i at = _mm_sub_epi8(largest, x);
  return {_mm256_i32gather_epi32(table, _mm256_cvtepu8_epi32(at), 4),
          _mm256_i32gather_epi32(table, _mm256_cvtepu8_epi32(_mm_srli_si128(at, 8)), 4)};
}

inline __m128i codes_of(const Entries& t, __m256 factor, const OutputS8& output) {
  const __m256i q = _mm256_permute4x64_epi64(
      _mm256_packs_epi32(avx2_requantize(t.low, factor, output), avx2_requantize(t.high, factor, output)),
      0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
}

}  // namespace

void softmax_s8_avx2(const int8_t* x, const int32_t* table, float reciprocal_scale, const OutputS8& output,
                     int8_t* y, int32_t n) {
  if (n < kLanes) return softmax_s8_scalar(x, table, reciprocal_scale, output, y, n);
  const int32_t whole = n / kLanes * kLanes;
  const int8_t largest = largest_of(x, n);
  const __m128i most = _mm_set1_epi8(largest);
  __m256i sums = _mm256_setzero_si256();
  for (int32_t i = 0; i < whole; i += kLanes) {
    const Entries t = entries_of(load16(x + i), most, table);
    sums = _mm256_add_epi32(sums, _mm256_add_epi32(t.low, t.high));
  }
  alignas(32) int32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
  int32_t sum = 0;
  for (const int32_t lane : lanes) sum += lane;
  for (int32_t i = whole; i < n; ++i) sum += table[largest - x[i]];

  const float r = reciprocal_scale / static_cast<float>(sum);
  const __m256 factor = _mm256_set1_ps(r);
  const OutputS8 o = output;
  if (n >= kLongRow) {
    alignas(16) int8_t codes[kCodes];  // by code + 128; beyond the largest there is none
    for (int32_t code = -128; code < 128; code += kLanes) {
      alignas(16) int8_t these[kLanes];
      for (int32_t j = 0; j < kLanes; ++j)
        these[j] = static_cast<int8_t>(code + j < largest ? code + j : largest);
      _mm_store_si128(reinterpret_cast<__m128i*>(codes + (code + 128)),
                      codes_of(entries_of(load16(these), most, table), factor, o));
    }
    return lookup_s8_avx2(x, codes, y, n);
  }
  for (int32_t i = 0; i < whole; i += kLanes)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     codes_of(entries_of(load16(x + i), most, table), factor, o));
  for (int32_t i = whole; i < n; ++i) y[i] = requantize_s8(table[largest - x[i]], r, o);
}

// Eight codes at a time: two gathers, and their products in halves of 64 bits.

namespace {

constexpr int32_t kLanesS16 = 8;

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
  if (n < kLanesS16) return softmax_s16_scalar(x, table, reciprocal_scale, y, n);
  const int32_t whole = n / kLanesS16 * kLanesS16;
  __m256i most = load8(x + n - kLanesS16);  // meeting some of them again changes nothing
  for (int32_t i = 0; i < whole; i += kLanesS16) most = _mm256_max_epi32(most, load8(x + i));
  alignas(32) int32_t lanes[kLanesS16];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), most);
  int32_t largest = lanes[0];
  for (const int32_t lane : lanes) largest = largest > lane ? largest : lane;
  most = _mm256_set1_epi32(largest);

  __m256i sums = _mm256_setzero_si256();
  for (int32_t i = 0; i < whole; i += kLanesS16) sums = _mm256_add_epi32(sums, entries(table, most, x + i));
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
  int32_t sum = 0;
  for (const int32_t lane : lanes) sum += lane;
  for (int32_t i = whole; i < n; ++i) sum += softmax_entry_s16(table, largest - x[i]);

  const float r = reciprocal_scale / static_cast<float>(sum);
  const __m256 factor = _mm256_set1_ps(r), hi = _mm256_set1_ps(32767.0f);  // none is negative
  for (int32_t i = 0; i < whole; i += kLanesS16) {
    const __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(entries(table, most, x + i)), factor);
    const __m256i q = _mm256_cvtps_epi32(_mm256_min_ps(v, hi));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
  }
  const OutputS16 output = make_output_s16(-32768, 32767);
  for (int32_t i = whole; i < n; ++i)
    y[i] = requantize_s16(softmax_entry_s16(table, largest - x[i]), r, output);
}

SoftmaxF32 softmax_f32_avx2;

void softmax_f32_avx2(const float* x, float* y, int32_t n, int32_t block) { softmax_row_f32(x, y, n, block); }

}  // namespace intaglio
