#include "kernels/compiled_isa.h"
#include "kernels/eltwise/unary_f32.h"
#include "kernels/eltwise/unary_f32_rows.h"

namespace intaglio {

#define ITG_UNARY_F32(isa) void unary_f32_##isa(const UnaryF32Args& args);
#include "kernels/eltwise/unary_f32_kernels.inc"
#undef ITG_UNARY_F32

namespace {

#define ITG_UNARY_F32(isa) \
  ITG_KERNEL(UnaryF32Kernel, unary_f32, isa, ITG_COMPILED(isa, k.function = unary_f32_##isa;))
constexpr UnaryF32Kernel kKernels[] = {
#include "kernels/eltwise/unary_f32_kernels.inc"
};
#undef ITG_UNARY_F32

}  // namespace

ITG_KERNEL_LIST(UnaryF32Kernel, unary_f32, kKernels)
ITG_FIRST_ALLOWED(unary_f32, kKernels)

void unary_f32_scalar(const UnaryF32Args& args);

void unary_f32_scalar(const UnaryF32Args& args) { unary_rows_f32(args); }

}  // namespace intaglio
