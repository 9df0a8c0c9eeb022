#include "kernels/compiled_isa.h"
#include "kernels/eltwise/rare_f32.h"
#include "kernels/eltwise/rare_f32_rows.h"

namespace intaglio {

#define ITG_RARE_F32(isa) void rare_f32_##isa(const RareF32Args& args);
#include "kernels/eltwise/rare_f32_kernels.inc"
#undef ITG_RARE_F32

namespace {

#define ITG_RARE_F32(isa) \
  ITG_KERNEL(RareF32Kernel, rare_f32, isa, ITG_COMPILED(isa, k.function = rare_f32_##isa;))
constexpr RareF32Kernel kKernels[] = {
#include "kernels/eltwise/rare_f32_kernels.inc"
};
#undef ITG_RARE_F32

}  // namespace

ITG_KERNEL_LIST(RareF32Kernel, rare_f32, kKernels)
ITG_FIRST_ALLOWED(rare_f32, kKernels)

void rare_f32_scalar(const RareF32Args& args);

void rare_f32_scalar(const RareF32Args& args) { rare_rows_f32(args); }

}  // namespace intaglio
