#include "kernels/dwconv/dwconv_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_DWCONV_S8(isa, ...) void dwconv_s8_##isa(const DwconvS8Args& args);
#include "kernels/dwconv/dwconv_s8_kernels.inc"
#undef ITG_DWCONV_S8

namespace {

#define ITG_DWCONV_S8(isa, ...) \
  ITG_KERNEL(DwconvS8Kernel, dwconv_s8, isa, ITG_COMPILED(isa, k.function = dwconv_s8_##isa;) __VA_ARGS__)
constexpr DwconvS8Kernel kKernels[] = {
#include "kernels/dwconv/dwconv_s8_kernels.inc"
};
#undef ITG_DWCONV_S8

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

bool fits(const DwconvS8Kernel& kernel, IsaMask isa, int32_t depth_multiplier) {
  return (kernel.isa & ~isa) == 0 &&
         (kernel.max_depth_multiplier == 0 || depth_multiplier <= kernel.max_depth_multiplier);
}

}  // namespace

ITG_KERNEL_LIST(DwconvS8Kernel, dwconv_s8, kKernels)

int32_t dwconv_s8_select(IsaMask isa, int32_t depth_multiplier) {
  int32_t i = 0;
  while (i < kCount - 1 && !fits(kKernels[i], isa, depth_multiplier)) ++i;
  return i;
}

int64_t dwconv_s8_scratch_bytes(const DwconvS8Kernel& kernel, int32_t taps) {
  return (int64_t{taps} * kernel.tap_bytes + 63) / 64 * 64;
}

}  // namespace intaglio
