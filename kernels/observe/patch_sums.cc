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

}  // namespace

ITG_KERNEL_LIST(PatchSumsKernel, patch_sums, kKernels)

const PatchSumsKernel& patch_sums_best(IsaMask isa) {
  return kKernels[first_allowed(kKernels, isa & kCompiledIsa)];
}

}  // namespace intaglio
