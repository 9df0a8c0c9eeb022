// Tables of 256 codes: one for all elements, and one for each group of columns.
#include <immintrin.h>

#include "kernels/eltwise/eltwise_s8.h"
#include "kernels/eltwise/eltwise_s8_rows.h"

namespace intaglio {

// A table in four registers: a permutation of two finds an entry by the lower seven bits of a code, and the sign chooses between
// the table's halves.

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

// Sixty-four columns at once, table by table: a mask says which columns a table is for. Rows of fewer columns that divide
// sixty-four are taken together.

void grouped_lookup_s8_avx512vbmi(const GroupedLookupS8& work);
void grouped_lookup_s8_scalar(const GroupedLookupS8& work);

namespace {

constexpr int32_t kMostTables = 4;  // in registers

// Rows of `stride` columns, of which sixty-four from `groups` and `x` on are looked up; `held`: which of them there are. Inlined, since
// gcc leaves the upper halves of vectors in use where it passes one by value.
__attribute__((always_inline)) inline void look_up(const GroupedLookupS8& work, const int8_t* x,
                                                   __m512i groups, int8_t* y, int32_t rows, int32_t stride,
                                                   __mmask64 held) {
  __m512i tables[kMostTables][4];
  __mmask64 own[kMostTables];
  for (int32_t g = 0; g < kMostTables; ++g) {
    const int8_t* const table = work.tables + 256 * (g < work.count ? g : 0);
    for (int32_t k = 0; k < 4; ++k) tables[g][k] = _mm512_loadu_si512(table + 64 * k);
    own[g] = _mm512_cmpeq_epi8_mask(groups, _mm512_set1_epi8(static_cast<char>(g)));
  }
  for (int32_t r = 0; r < rows; ++r, x += stride, y += stride) {
    const __m512i codes = _mm512_maskz_loadu_epi8(held, x);
    const __mmask64 low = _mm512_movepi8_mask(codes);
    __m512i q = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int32_t g = 0; g < kMostTables; ++g) {
      const __m512i below = _mm512_permutex2var_epi8(tables[g][0], codes, tables[g][1]);
      const __m512i above = _mm512_permutex2var_epi8(tables[g][2], codes, tables[g][3]);
      q = _mm512_mask_mov_epi8(q, own[g], _mm512_mask_blend_epi8(low, above, below));
    }
    _mm512_mask_storeu_epi8(y, held, q);
  }
}

}  // namespace

void grouped_lookup_s8_avx512vbmi(const GroupedLookupS8& work) {
  constexpr int32_t kColumns = 64;
  if (work.count > kMostTables) return grouped_lookup_s8_scalar(work);
  if (work.n < kColumns && kColumns % work.n == 0) {
    const int32_t together = kColumns / work.n, whole = work.rows / together;
    int8_t groups[kColumns];
    for (int32_t i = 0; i < kColumns; ++i) groups[i] = work.groups[i % work.n];
    const __m512i own = _mm512_loadu_si512(groups);
    look_up(work, work.x, own, work.y, whole, kColumns, ~__mmask64{0});
    const int32_t done = whole * kColumns, left = work.rows * work.n - done;
    if (left > 0) look_up(work, work.x + done, own, work.y + done, 1, kColumns, (__mmask64{1} << left) - 1);
    return;
  }
  for (int32_t first = 0; first < work.n; first += kColumns) {
    const int32_t count = work.n - first < kColumns ? work.n - first : kColumns;
    const __mmask64 held = count == kColumns ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
    look_up(work, work.x + first, _mm512_maskz_loadu_epi8(held, work.groups + first), work.y + first,
            work.rows, work.n, held);
  }
}

}  // namespace intaglio
