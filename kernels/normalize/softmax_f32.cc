#include "kernels/normalize/softmax_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_SOFTMAX_F32(suffix, isa) void softmax_f32_##suffix(const float* x, float* y, int32_t n);
#include "kernels/normalize/softmax_f32_kernels.inc"
#undef ITG_SOFTMAX_F32

namespace {

#define ITG_SOFTMAX_F32(suffix, isa) \
  ITG_LISTED_##isa({"softmax_f32_" #suffix, ITG_NEEDS_##isa, ITG_COMPILED_##isa(softmax_f32_##suffix)}, )
const SoftmaxF32Kernel kKernels[] = {
#include "kernels/normalize/softmax_f32_kernels.inc"
};
#undef ITG_SOFTMAX_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t softmax_f32_count() { return kCount; }
const SoftmaxF32Kernel& softmax_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t softmax_f32_select(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~isa) != 0) ++i;
  return i;
}

}  // namespace intaglio
