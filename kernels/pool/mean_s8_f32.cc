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

}  // namespace

ITG_KERNEL_LIST(MeanS8F32Kernel, mean_s8_f32, kKernels)
ITG_FIRST_ALLOWED(mean_s8_f32, kKernels)

}  // namespace intaglio
