#include "kernels/pool/mean_s8_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_MEAN_S8_F32(suffix, isa) MeanS8F32 mean_s8_f32_##suffix;
#include "kernels/pool/mean_s8_f32_kernels.inc"
#undef ITG_MEAN_S8_F32

namespace {

#define ITG_MEAN_S8_F32(suffix, isa) \
  ITG_LISTED_##isa({"mean_s8_f32_" #suffix, ITG_NEEDS_##isa, ITG_COMPILED_##isa(mean_s8_f32_##suffix)}, )
const MeanS8F32Kernel kKernels[] = {
#include "kernels/pool/mean_s8_f32_kernels.inc"
};
#undef ITG_MEAN_S8_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t mean_s8_f32_count() { return kCount; }
const MeanS8F32Kernel& mean_s8_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t mean_s8_f32_select(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~isa) != 0) ++i;
  return i;
}

}  // namespace intaglio
