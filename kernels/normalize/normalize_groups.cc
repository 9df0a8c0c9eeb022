#include "kernels/normalize/normalize_groups.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_NORMALIZE_GROUPS(isa)                             \
  void normalize_groups_s8_##isa(const NormalizeArgs& args);  \
  void normalize_groups_s16_##isa(const NormalizeArgs& args); \
  void normalize_groups_f32_##isa(const NormalizeArgs& args);
#include "kernels/normalize/normalize_groups_kernels.inc"
#undef ITG_NORMALIZE_GROUPS

namespace {

#define ITG_NORMALIZE_GROUPS(isa)                                                                    \
  ITG_KERNEL(NormalizeKernel, normalize_groups, isa,                                                 \
             ITG_COMPILED(isa, k.s8 = normalize_groups_s8_##isa; k.s16 = normalize_groups_s16_##isa; \
                          k.f32 = normalize_groups_f32_##isa;))
constexpr NormalizeKernel kKernels[] = {
#include "kernels/normalize/normalize_groups_kernels.inc"
};
#undef ITG_NORMALIZE_GROUPS

}  // namespace

ITG_KERNEL_LIST(NormalizeKernel, normalize, kKernels)
ITG_FIRST_ALLOWED(normalize, kKernels)

}  // namespace intaglio
