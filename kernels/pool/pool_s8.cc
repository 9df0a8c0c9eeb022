#include "kernels/pool/pool_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_POOL_S8(isa)      \
  AverageS8 average_s8_##isa; \
  MaxS8 max_s8_##isa;
#include "kernels/pool/pool_s8_kernels.inc"
#undef ITG_POOL_S8

namespace {

#define ITG_POOL_S8(isa)                 \
  ITG_KERNEL(PoolS8Kernel, pool_s8, isa, \
             ITG_COMPILED(isa, k.average = average_s8_##isa; k.max = max_s8_##isa;))
constexpr PoolS8Kernel kKernels[] = {
#include "kernels/pool/pool_s8_kernels.inc"
};
#undef ITG_POOL_S8

}  // namespace

ITG_KERNEL_LIST(PoolS8Kernel, pool_s8, kKernels)
ITG_FIRST_ALLOWED(pool_s8, kKernels)

}  // namespace intaglio
