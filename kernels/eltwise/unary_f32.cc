#include "kernels/eltwise/unary_f32.h"

#include "kernels/compiled_isa.h"

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

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t unary_f32_count() { return kCount; }
const UnaryF32Kernel& unary_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t unary_f32_select(IsaMask isa) { return first_allowed(kKernels, isa); }

}  // namespace intaglio
