#include "kernels/observe/observe_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_OBSERVE_F32(isa)                                            \
  void extremes_f32_##isa(const float* x, size_t n, ExtremesF32* seen); \
  void count_f32_##isa(const float* x, size_t n, size_t stride, const BinsF32& bins);
#include "kernels/observe/observe_f32_kernels.inc"
#undef ITG_OBSERVE_F32

namespace {

#define ITG_OBSERVE_F32(isa)                     \
  ITG_KERNEL(ObserveF32Kernel, observe_f32, isa, \
             ITG_COMPILED(isa, k.extremes = extremes_f32_##isa; k.count = count_f32_##isa;))
constexpr ObserveF32Kernel kKernels[] = {
#include "kernels/observe/observe_f32_kernels.inc"
};
#undef ITG_OBSERVE_F32

}  // namespace

ITG_KERNEL_LIST(ObserveF32Kernel, observe_f32, kKernels)

const ObserveF32Kernel& observe_f32_best(IsaMask isa) {
  return kKernels[first_allowed(kKernels, isa & kCompiledIsa)];
}

}  // namespace intaglio
