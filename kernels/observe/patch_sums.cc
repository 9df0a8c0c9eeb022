#include "kernels/observe/patch_sums.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_PATCH_SUMS(suffix, isa)                        \
  void patch_row_s8_##suffix(const PatchRow<int8_t>& row); \
  void patch_row_f32_##suffix(const PatchRow<float>& row);
#include "kernels/observe/patch_sums_kernels.inc"
#undef ITG_PATCH_SUMS

namespace {

#define ITG_PATCH_SUMS(suffix, isa)                                                                    \
  ITG_LISTED_##isa({"patch_sums_" #suffix, ITG_NEEDS_##isa, ITG_COMPILED_##isa(patch_row_s8_##suffix), \
                    ITG_COMPILED_##isa(patch_row_f32_##suffix)}, )
const PatchSumsKernel kKernels[] = {
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
