// A table in four registers: a permutation of two finds an entry by the lower seven bits of a code, and the sign chooses between
// the table's halves.
#include <immintrin.h>

#include "kernels/eltwise/eltwise_s8_rows.h"

namespace intaglio {

void lookup_s8_avx512vbmi(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

void lookup_s8_avx512vbmi(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64),
                t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  for (; n >= 64; n -= 64, x += 64, y += 64) {
    const __m512i codes = _mm512_loadu_si512(x);
    const __m512i low = _mm512_permutex2var_epi8(t0, codes, t1),
                  high = _mm512_permutex2var_epi8(t2, codes, t3);
    _mm512_storeu_si512(y, _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), high, low));
  }
  map_lookup_s8(x, table, y, n);
}

}  // namespace intaglio
