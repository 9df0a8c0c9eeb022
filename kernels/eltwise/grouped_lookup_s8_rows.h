// The loop over columns, which all instruction sets share.
#pragma once

#include "kernels/eltwise/grouped_lookup_s8.h"

namespace intaglio {

// Some columns of every row at a time: where their tables are is found once.
static inline void grouped_lookup_columns_s8(const GroupedLookupS8& work) {
  constexpr int32_t kColumns = 32;
  for (int32_t first = 0; first < work.n; first += kColumns) {
    const int32_t count = work.n - first < kColumns ? work.n - first : kColumns;
    const int8_t* middles[kColumns];
    for (int32_t i = 0; i < count; ++i) middles[i] = work.tables + 128 + 256 * work.groups[first + i];
    const int8_t* x = work.x + first;
    int8_t* y = work.y + first;
    for (int32_t r = 0; r < work.rows; ++r, x += work.n, y += work.n)
      for (int32_t i = 0; i < count; ++i) y[i] = middles[i][x[i]];
  }
}

}  // namespace intaglio
