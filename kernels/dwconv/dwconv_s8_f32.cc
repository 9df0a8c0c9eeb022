#include "kernels/dwconv/dwconv_s8_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_DWCONV_S8_F32(isa, ...) void dwconv_s8_f32_##isa(const DwconvS8F32Args& args);
#include "kernels/dwconv/dwconv_s8_f32_kernels.inc"
#undef ITG_DWCONV_S8_F32

namespace {

#define ITG_DWCONV_S8_F32(isa, ...)                 \
  ITG_KERNEL(DwconvS8F32Kernel, dwconv_s8_f32, isa, \
             ITG_COMPILED(isa, k.f32_function = dwconv_s8_f32_##isa;) __VA_ARGS__)
constexpr DwconvS8F32Kernel kKernels[] = {
#include "kernels/dwconv/dwconv_s8_f32_kernels.inc"
};
#undef ITG_DWCONV_S8_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

ITG_KERNEL_LIST(DwconvS8F32Kernel, dwconv_s8_f32, kKernels)

// The scalar kernel alone takes channels that have several outputs.
int32_t dwconv_s8_f32_select(IsaMask isa, int32_t depth_multiplier) {
  return depth_multiplier > 1 ? kCount - 1 : first_allowed(kKernels, isa);
}

}  // namespace intaglio
