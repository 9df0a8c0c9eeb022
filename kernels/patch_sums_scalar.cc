#include "kernels/patch_sums_rows.h"

namespace intaglio {

void patch_row_s8_scalar(const PatchRow<int8_t>& row);
void patch_row_f32_scalar(const PatchRow<float>& row);

void patch_row_s8_scalar(const PatchRow<int8_t>& row) { patch_row_rest<int8_t, int32_t>(row, 0); }
void patch_row_f32_scalar(const PatchRow<float>& row) { patch_row_rest<float, double>(row, 0); }

}  // namespace intaglio
