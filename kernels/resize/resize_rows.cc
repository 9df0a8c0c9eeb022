#include "kernels/resize/resize_rows.h"

#include "kernels/compiled_isa.h"
#include "kernels/resize/resize_rows_loops.h"

namespace intaglio {

#define ITG_RESIZE_ROWS(isa)                                       \
  void resize_row_s8_##isa(const ResizeRow<int8_t, int32_t>& row); \
  void resize_row_f32_##isa(const ResizeRow<float, float>& row);
#include "kernels/resize/resize_rows_kernels.inc"
#undef ITG_RESIZE_ROWS

namespace {

#define ITG_RESIZE_ROWS(isa)                     \
  ITG_KERNEL(ResizeRowsKernel, resize_rows, isa, \
             ITG_COMPILED(isa, k.row_s8 = resize_row_s8_##isa; k.row_f32 = resize_row_f32_##isa;))
constexpr ResizeRowsKernel kKernels[] = {
#include "kernels/resize/resize_rows_kernels.inc"
};
#undef ITG_RESIZE_ROWS

}  // namespace

ITG_KERNEL_LIST(ResizeRowsKernel, resize_rows, kKernels)
ITG_FIRST_ALLOWED(resize_rows, kKernels)

void resize_row_s16(const ResizeRow<int16_t, int32_t>& row) { resize_row_codes<int16_t, int64_t>(row); }

}  // namespace intaglio
