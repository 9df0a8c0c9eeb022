#include "kernels/observe/patch_sums.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_PATCH_SUMS(isa)                             \
  void patch_row_s8_##isa(const PatchRow<int8_t>& row); \
  void patch_row_f32_##isa(const PatchRow<float>& row);
#include "kernels/observe/patch_sums_kernels.inc"
#undef ITG_PATCH_SUMS

namespace {

#define ITG_PATCH_SUMS(isa)                    \
  ITG_KERNEL(PatchSumsKernel, patch_sums, isa, \
             ITG_COMPILED(isa, k.row_s8 = patch_row_s8_##isa; k.row_f32 = patch_row_f32_##isa;))
constexpr PatchSumsKernel kKernels[] = {
#include "kernels/observe/patch_sums_kernels.inc"
};
#undef ITG_PATCH_SUMS

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t patch_sums_count() { return kCount; }
const PatchSumsKernel& patch_sums_kernel(int32_t index) { return kKernels[index]; }

const PatchSumsKernel& patch_sums_best(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~(isa & kCompiledIsa)) != 0) ++i;
  return kKernels[i];
}

}  // namespace intaglio
