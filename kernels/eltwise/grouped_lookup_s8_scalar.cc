#include "kernels/eltwise/grouped_lookup_s8.h"

namespace intaglio {

void grouped_lookup_s8_scalar(const GroupedLookupS8& work);

namespace {

// kCount columns of some rows from x on. Their tables stay in registers.
template <int32_t kCount>
inline void look_up(const int8_t* tables, const int8_t* groups, const int8_t* x, int8_t* y, int32_t rows,
                    int32_t stride) {
  const int8_t* middles[kCount];
  for (int32_t i = 0; i < kCount; ++i) middles[i] = tables + 128 + 256 * groups[i];
  for (int32_t r = 0; r < rows; ++r, x += stride, y += stride) {
#pragma GCC unroll 8
    for (int32_t i = 0; i < kCount; ++i) y[i] = middles[i][x[i]];
  }
}

}  // namespace

// A few rows at a time, which stay in the first cache.
void grouped_lookup_s8_scalar(const GroupedLookupS8& work) {
  constexpr int32_t kColumns = 8, kBytes = 16384;
  const int32_t most = work.n < kBytes ? kBytes / work.n : 1;
  for (int32_t r = 0; r < work.rows; r += most) {
    const int32_t rows = work.rows - r < most ? work.rows - r : most;
    const ptrdiff_t start = static_cast<ptrdiff_t>(r) * work.n;
    int32_t i = 0;
    for (; i + kColumns <= work.n; i += kColumns)
      look_up<kColumns>(work.tables, work.groups + i, work.x + start + i, work.y + start + i, rows, work.n);
    for (; i < work.n; ++i)
      look_up<1>(work.tables, work.groups + i, work.x + start + i, work.y + start + i, rows, work.n);
  }
}

}  // namespace intaglio
