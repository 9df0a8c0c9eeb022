#include "kernels/dwconv_3x3_f32.h"

namespace intaglio {

#define ITG_DWCONV_3X3_F32(suffix, isa) void dwconv_3x3_f32_##suffix(const Dwconv3x3F32Args& args);
#include "kernels/dwconv_3x3_f32_kernels.inc"
#undef ITG_DWCONV_3X3_F32

namespace {

#define ITG_DWCONV_3X3_F32(suffix, isa) \
  ITG_LISTED_##isa(                     \
      {"dwconv_3x3_f32_" #suffix, ITG_NEEDS_##isa, ITG_COMPILED_##isa(dwconv_3x3_f32_##suffix)}, )
const Dwconv3x3F32Kernel kKernels[] = {
#include "kernels/dwconv_3x3_f32_kernels.inc"
    {},  // there may be no other
};
#undef ITG_DWCONV_3X3_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0] - 1;

}  // namespace

int32_t dwconv_3x3_f32_count() { return kCount; }
const Dwconv3x3F32Kernel& dwconv_3x3_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t dwconv_3x3_f32_select(IsaMask isa) {
  for (int32_t i = 0; i < kCount; ++i)
    if ((kKernels[i].isa & ~isa) == 0) return i;
  return -1;
}

}  // namespace intaglio
