#include "kernels/dwconv/dwconv_s16.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_DWCONV_S16(isa, ...) void dwconv_s16_##isa(const DwconvS16Args& args);
#include "kernels/dwconv/dwconv_s16_kernels.inc"
#undef ITG_DWCONV_S16

namespace {

#define ITG_DWCONV_S16(isa, ...) \
  ITG_KERNEL(DwconvS16Kernel, dwconv_s16, isa, ITG_COMPILED(isa, k.function = dwconv_s16_##isa;) __VA_ARGS__)
constexpr DwconvS16Kernel kKernels[] = {
#include "kernels/dwconv/dwconv_s16_kernels.inc"
};
#undef ITG_DWCONV_S16

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

ITG_KERNEL_LIST(DwconvS16Kernel, dwconv_s16, kKernels)

int32_t dwconv_s16_select(IsaMask isa, bool narrow) {
  for (int32_t i = 0; i < kCount; ++i)
    if ((kKernels[i].isa & ~isa) == 0 && (narrow || !kKernels[i].is_narrow)) return i;
  return kCount - 1;
}

}  // namespace intaglio
