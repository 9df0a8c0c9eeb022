#include "kernels/pool/pool_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_POOL_F32(isa)       \
  AverageF32 average_f32_##isa; \
  MaxF32 max_f32_##isa;
#include "kernels/pool/pool_f32_kernels.inc"
#undef ITG_POOL_F32

namespace {

#define ITG_POOL_F32(isa)                  \
  ITG_KERNEL(PoolF32Kernel, pool_f32, isa, \
             ITG_COMPILED(isa, k.average = average_f32_##isa; k.max = max_f32_##isa;))
constexpr PoolF32Kernel kKernels[] = {
#include "kernels/pool/pool_f32_kernels.inc"
};
#undef ITG_POOL_F32

}  // namespace

ITG_KERNEL_LIST(PoolF32Kernel, pool_f32, kKernels)
ITG_FIRST_ALLOWED(pool_f32, kKernels)

}  // namespace intaglio
