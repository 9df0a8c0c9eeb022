#include "kernels/resize/resize_rows_loops.h"

namespace intaglio {

void resize_row_s8_avx2(const ResizeRow<int8_t, int32_t>& row);
void resize_row_f32_avx2(const ResizeRow<float, float>& row);

void resize_row_s8_avx2(const ResizeRow<int8_t, int32_t>& row) { resize_row_s8(row); }
void resize_row_f32_avx2(const ResizeRow<float, float>& row) { resize_row_f32(row); }

}  // namespace intaglio
