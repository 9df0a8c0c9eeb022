#include "kernels/dwconv/dwconv_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_DWCONV_F32(isa, ...) void dwconv_f32_##isa(const DwconvF32Args& args);
#include "kernels/dwconv/dwconv_f32_kernels.inc"
#undef ITG_DWCONV_F32

namespace {

#define ITG_DWCONV_F32(isa, ...) \
  ITG_KERNEL(DwconvF32Kernel, dwconv_f32, isa, ITG_COMPILED(isa, k.function = dwconv_f32_##isa;) __VA_ARGS__)
constexpr DwconvF32Kernel kKernels[] = {
#include "kernels/dwconv/dwconv_f32_kernels.inc"
};
#undef ITG_DWCONV_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

bool fits(const DwconvF32Kernel& kernel, IsaMask isa, int32_t depth_multiplier) {
  return (kernel.isa & ~isa) == 0 &&
         (kernel.max_depth_multiplier == 0 || depth_multiplier <= kernel.max_depth_multiplier);
}

}  // namespace

ITG_KERNEL_LIST(DwconvF32Kernel, dwconv_f32, kKernels)

int32_t dwconv_f32_select(IsaMask isa, int32_t depth_multiplier) {
  int32_t i = 0;
  while (i < kCount - 1 && !fits(kKernels[i], isa, depth_multiplier)) ++i;
  return i;
}

}  // namespace intaglio
