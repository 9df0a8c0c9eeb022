#include "kernels/resize/resize_rows.h"

#include "kernels/compiled_isa.h"
#include "kernels/resize/resize_rows_loops.h"

namespace intaglio {

#define ITG_RESIZE_ROWS(isa)                                         \
  void resize_rows_s8_##isa(const ResizeRowS8* rows, int32_t count); \
  void resize_rows_f32_##isa(const ResizeRowF32* rows, int32_t count);
#include "kernels/resize/resize_rows_kernels.inc"
#undef ITG_RESIZE_ROWS

namespace {

#define ITG_RESIZE_ROWS(isa)                     \
  ITG_KERNEL(ResizeRowsKernel, resize_rows, isa, \
             ITG_COMPILED(isa, k.rows_s8 = resize_rows_s8_##isa; k.rows_f32 = resize_rows_f32_##isa;))
constexpr ResizeRowsKernel kKernels[] = {
#include "kernels/resize/resize_rows_kernels.inc"
};
#undef ITG_RESIZE_ROWS

}  // namespace

ITG_KERNEL_LIST(ResizeRowsKernel, resize_rows, kKernels)
ITG_FIRST_ALLOWED(resize_rows, kKernels)

void resize_rows_s16(const ResizeRow<int16_t, int32_t>* rows, int32_t count) {
  for (; count > 0; --count, ++rows) resize_row_codes<int16_t, int64_t>(*rows);
}

}  // namespace intaglio
