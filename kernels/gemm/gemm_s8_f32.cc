#include "kernels/gemm/gemm_s8_f32.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GEMM_S8_F32(isa, ...) void gemm_s8_f32_##isa(const GemmS8F32Args& args);
#include "kernels/gemm/gemm_s8_f32_kernels.inc"
#undef ITG_GEMM_S8_F32

namespace {

#define ITG_GEMM_S8_F32(isa, ...)               \
  ITG_KERNEL(GemmS8F32Kernel, gemm_s8_f32, isa, \
             ITG_COMPILED(isa, k.f32_function = gemm_s8_f32_##isa;) __VA_ARGS__)
constexpr GemmS8F32Kernel kKernels[] = {
#include "kernels/gemm/gemm_s8_f32_kernels.inc"
};
#undef ITG_GEMM_S8_F32

}  // namespace

ITG_KERNEL_LIST(GemmS8F32Kernel, gemm_s8_f32, kKernels)
ITG_FIRST_ALLOWED(gemm_s8_f32, kKernels)

}  // namespace intaglio
