#include "kernels/pool/pool_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_POOL_F32(suffix, isa)  \
  AverageF32 average_f32_##suffix; \
  MaxF32 max_f32_##suffix;
#include "kernels/pool/pool_f32_kernels.inc"
#undef ITG_POOL_F32

namespace {

#define ITG_POOL_F32(suffix, isa)                                                                   \
  ITG_LISTED_##isa({"pool_f32_" #suffix, ITG_NEEDS_##isa, ITG_COMPILED_##isa(average_f32_##suffix), \
                    ITG_COMPILED_##isa(max_f32_##suffix)}, )
const PoolF32Kernel kKernels[] = {
#include "kernels/pool/pool_f32_kernels.inc"
};
#undef ITG_POOL_F32

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t pool_f32_count() { return kCount; }
const PoolF32Kernel& pool_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t pool_f32_select(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~isa) != 0) ++i;
  return i;
}

}  // namespace intaglio
