#include "kernels/resize/resize_rows_loops.h"

namespace intaglio {

void resize_rows_s8_scalar(const ResizeRowS8* rows, int32_t count);
void resize_rows_f32_scalar(const ResizeRowF32* rows, int32_t count);

void resize_rows_s8_scalar(const ResizeRowS8* rows, int32_t count) {
  for (; count > 0; --count, ++rows) resize_row_s8(*rows);
}
void resize_rows_f32_scalar(const ResizeRowF32* rows, int32_t count) {
  for (; count > 0; --count, ++rows) resize_row_f32(*rows);
}

}  // namespace intaglio
