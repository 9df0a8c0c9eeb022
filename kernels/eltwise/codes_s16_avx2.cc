// Compilers vectorise all but the table: two entries are one word, which a gather reads.
#include <immintrin.h>

#include "kernels/eltwise/codes_s16_functions.h"
#include "kernels/eltwise/codes_s16_loops.h"

namespace intaglio {
namespace {

// The codes of eight elements, as int32: (first * (128 - part) + next * part + 64) >> 7.
inline __m256i interpolated(const int16_t* x, const int16_t* table) {
  const __m256i code = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  const __m256i at = _mm256_add_epi32(_mm256_srai_epi32(code, 7), _mm256_set1_epi32(256));
  const __m256i entries = _mm256_i32gather_epi32(reinterpret_cast<const int*>(table), at, 2);
  const __m256i part = _mm256_and_si256(code, _mm256_set1_epi32(127));
  // part * 2^16 + 128 - part
  const __m256i shares =
      _mm256_add_epi32(_mm256_sub_epi32(_mm256_slli_epi32(part, 16), part), _mm256_set1_epi32(128));
  const __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(entries, shares), _mm256_set1_epi32(64));
  return _mm256_srai_epi32(sum, 7);
}

void lookup_by_gather(const int16_t* x, const int16_t* table, int16_t* y, int32_t n) {
  int32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i codes = interpolated(x + i, table);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1)));
  }
  lookup_codes_s16(x + i, table, y + i, n - i);
}

}  // namespace

ITG_CODES_S16_FUNCTIONS(avx2, lookup_by_gather)

}  // namespace intaglio
