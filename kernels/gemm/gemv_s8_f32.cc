#include "kernels/gemm/gemv_s8_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GEMV_S8_F32(isa) GemvS8F32 gemv_s8_f32_##isa;
#include "kernels/gemm/gemv_s8_f32_kernels.inc"
#undef ITG_GEMV_S8_F32

namespace {

#define ITG_GEMV_S8_F32(isa) \
  ITG_KERNEL(GemvS8F32Kernel, gemv_s8_f32, isa, ITG_COMPILED(isa, k.function = gemv_s8_f32_##isa;))
constexpr GemvS8F32Kernel kKernels[] = {
#include "kernels/gemm/gemv_s8_f32_kernels.inc"
};
#undef ITG_GEMV_S8_F32

}  // namespace

ITG_KERNEL_LIST(GemvS8F32Kernel, gemv_s8_f32, kKernels)
ITG_FIRST_ALLOWED(gemv_s8_f32, kKernels)

}  // namespace intaglio
