// A table in four registers: a permutation of two finds an entry by the lower seven bits of a code, and the sign chooses between
// the table's halves.
#include <immintrin.h>

#include "kernels/eltwise/eltwise_s8.h"

namespace intaglio {

void lookup_s8_avx512vbmi(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

void lookup_s8_avx512vbmi(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64),
                t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  const auto entries = [&](__m512i codes) {
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), _mm512_permutex2var_epi8(t2, codes, t3),
                                  _mm512_permutex2var_epi8(t0, codes, t1));
  };
  int32_t i = 0;
  for (; i + 64 <= n; i += 64) _mm512_storeu_si512(y + i, entries(_mm512_loadu_si512(x + i)));
  if (i == n) return;
  const __mmask64 there = (__mmask64{1} << (n - i)) - 1;
  _mm512_mask_storeu_epi8(y + i, there, entries(_mm512_maskz_loadu_epi8(there, x + i)));
}

}  // namespace intaglio
