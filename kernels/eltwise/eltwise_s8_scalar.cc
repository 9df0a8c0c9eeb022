// Element by element in int8, and tables for groups of columns with their list.
#include "kernels/compiled_isa.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "kernels/eltwise/eltwise_s8_rows.h"

namespace intaglio {

void add_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const AddS8& params);
void add_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);
void mul_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const MulS8& params);
void mul_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params);
void lookup_s8_scalar(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

void add_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const AddS8& params) {
  map_add_rows_s8(a, b, y, rows, n, params);
}
void add_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params) {
  map_add_code_s8(a, b, y, n, params);
}
void mul_rows_s8_scalar(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                        const MulS8& params) {
  map_mul_rows_s8(a, b, y, rows, n, params);
}
void mul_code_s8_scalar(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params) {
  map_mul_code_s8(a, b, y, n, params);
}
void lookup_s8_scalar(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  map_lookup_s8(x, table, y, n);
}

#define ITG_GROUPED_LOOKUP_S8(isa) void grouped_lookup_s8_##isa(const GroupedLookupS8& work);
#include "kernels/eltwise/grouped_lookup_s8_kernels.inc"
#undef ITG_GROUPED_LOOKUP_S8

namespace {

#define ITG_GROUPED_LOOKUP_S8(isa)                          \
  ITG_KERNEL(GroupedLookupS8Kernel, grouped_lookup_s8, isa, \
             ITG_COMPILED(isa, k.lookup = grouped_lookup_s8_##isa;))
constexpr GroupedLookupS8Kernel kGroupedLookupS8Kernels[] = {
#include "kernels/eltwise/grouped_lookup_s8_kernels.inc"
};
#undef ITG_GROUPED_LOOKUP_S8

}  // namespace

ITG_KERNEL_LIST(GroupedLookupS8Kernel, grouped_lookup_s8, kGroupedLookupS8Kernels)
ITG_FIRST_ALLOWED(grouped_lookup_s8, kGroupedLookupS8Kernels)

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
