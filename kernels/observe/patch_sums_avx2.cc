#include "kernels/observe/patch_sums_vectors.h"

namespace intaglio {

void patch_row_s8_avx2(const PatchRow<int8_t>& row);
void patch_row_f32_avx2(const PatchRow<float>& row);

void patch_row_s8_avx2(const PatchRow<int8_t>& row) {
  int32_t c = patch_row_vectors<PatchVectors<CodeSums8, 4>>(row, 0);
  c = patch_row_vectors<PatchVectors<CodeSums8, 1>>(row, c);
  patch_rest_s8_scalar(row, c);
}

void patch_row_f32_avx2(const PatchRow<float>& row) {
  int32_t c = patch_row_vectors<PatchVectors<RealSums4, 8>>(row, 0);
  c = patch_row_vectors<PatchVectors<RealSums4, 2>>(row, c);
  patch_rest_f32_scalar(row, c);
}

}  // namespace intaglio
