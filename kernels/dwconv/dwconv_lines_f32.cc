#include "kernels/dwconv/dwconv_lines_f32.h"

namespace intaglio {

#define ITG_DWCONV_LINES_F32(isa, ...) void dwconv_lines_f32_##isa(const DwconvLinesF32Args& args);
#include "kernels/dwconv/dwconv_lines_f32_kernels.inc"
#undef ITG_DWCONV_LINES_F32

namespace {

#define ITG_DWCONV_LINES_F32(isa, ...)                    \
  ITG_KERNEL(DwconvLinesF32Kernel, dwconv_lines_f32, isa, \
             ITG_COMPILED(isa, k.function = dwconv_lines_f32_##isa;) __VA_ARGS__)
constexpr DwconvLinesF32Kernel kKernels[] = {
#include "kernels/dwconv/dwconv_lines_f32_kernels.inc"
    {},  // there may be no other
};
#undef ITG_DWCONV_LINES_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0] - 1;

}  // namespace

int32_t dwconv_lines_f32_count() { return kCount; }
const DwconvLinesF32Kernel& dwconv_lines_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t dwconv_lines_f32_select(IsaMask isa, int32_t channels) {
  for (int32_t i = 0; i < kCount; ++i)
    if ((kKernels[i].isa & ~isa) == 0 && channels >= kKernels[i].min_channels) return i;
  return -1;
}

}  // namespace intaglio
