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

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t observe_f32_count() { return kCount; }
const ObserveF32Kernel& observe_f32_kernel(int32_t index) { return kKernels[index]; }

const ObserveF32Kernel& observe_f32_best(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~(isa & kCompiledIsa)) != 0) ++i;
  return kKernels[i];
}

}  // namespace intaglio
