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

}  // namespace

ITG_KERNEL_LIST(SoftmaxF32Kernel, softmax_f32, kKernels)
ITG_FIRST_ALLOWED(softmax_f32, kKernels)

}  // namespace intaglio
