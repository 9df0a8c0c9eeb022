#include "kernels/eltwise/rare_f32.h"

#include "kernels/compiled_isa.h"

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

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t rare_f32_count() { return kCount; }
const RareF32Kernel& rare_f32_kernel(int32_t index) { return kKernels[index]; }

int32_t rare_f32_select(IsaMask isa) { return first_allowed(kKernels, isa); }

}  // namespace intaglio
