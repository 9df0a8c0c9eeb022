#include "kernels/pool/mean_s8_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_MEAN_S8_F32(isa) MeanS8F32 mean_s8_f32_##isa;
#include "kernels/pool/mean_s8_f32_kernels.inc"
#undef ITG_MEAN_S8_F32

namespace {

#define ITG_MEAN_S8_F32(isa) \
  ITG_KERNEL(MeanS8F32Kernel, mean_s8_f32, isa, ITG_COMPILED(isa, k.function = mean_s8_f32_##isa;))
constexpr MeanS8F32Kernel kKernels[] = {
#include "kernels/pool/mean_s8_f32_kernels.inc"
};
#undef ITG_MEAN_S8_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t mean_s8_f32_count() { return kCount; }
const MeanS8F32Kernel& mean_s8_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t mean_s8_f32_select(IsaMask isa) { return first_allowed(kKernels, isa); }

}  // namespace intaglio
