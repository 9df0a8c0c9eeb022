#include "kernels/pool/pool_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_POOL_S8(suffix, isa) \
  AverageS8 average_s8_##suffix; \
  MaxS8 max_s8_##suffix;
#include "kernels/pool/pool_s8_kernels.inc"
#undef ITG_POOL_S8

namespace {

#define ITG_POOL_S8(suffix, isa)                                                                  \
  ITG_LISTED_##isa({"pool_s8_" #suffix, ITG_NEEDS_##isa, ITG_COMPILED_##isa(average_s8_##suffix), \
                    ITG_COMPILED_##isa(max_s8_##suffix)}, )
const PoolS8Kernel kKernels[] = {
#include "kernels/pool/pool_s8_kernels.inc"
};
#undef ITG_POOL_S8

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t pool_s8_count() { return kCount; }
const PoolS8Kernel& pool_s8_kernel(int32_t index) { return kKernels[index]; }

int32_t pool_s8_select(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~isa) != 0) ++i;
  return i;
}

}  // namespace intaglio
