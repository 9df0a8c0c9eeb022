#include "kernels/normalize/softmax_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_SOFTMAX_F32(isa) void softmax_f32_##isa(const float* x, float* y, int32_t n);
#include "kernels/normalize/softmax_f32_kernels.inc"
#undef ITG_SOFTMAX_F32

namespace {

#define ITG_SOFTMAX_F32(isa) \
  ITG_KERNEL(SoftmaxF32Kernel, softmax_f32, isa, ITG_COMPILED(isa, k.function = softmax_f32_##isa;))
constexpr SoftmaxF32Kernel kKernels[] = {
#include "kernels/normalize/softmax_f32_kernels.inc"
};
#undef ITG_SOFTMAX_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t softmax_f32_count() { return kCount; }
const SoftmaxF32Kernel& softmax_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t softmax_f32_select(IsaMask isa) { return first_allowed(kKernels, isa); }

}  // namespace intaglio
