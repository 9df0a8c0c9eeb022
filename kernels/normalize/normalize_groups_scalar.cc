#include "kernels/compiled_isa.h"
#include "kernels/normalize/normalize_groups.h"
#include "kernels/normalize/normalize_groups_loops.h"

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

void normalize_groups_s8_scalar(const NormalizeArgs& args);
void normalize_groups_f32_scalar(const NormalizeArgs& args);

void normalize_groups_s8_scalar(const NormalizeArgs& args) { normalize_all_s8(args); }
void normalize_groups_s16_scalar(const NormalizeArgs& args) {
  if (args.groups.places != 1) return normalize_places_s16(args);
  for_normalized_rows<int16_t>(args, normalize_row_s16<false>);
}
void normalize_groups_f32_scalar(const NormalizeArgs& args) { normalize_all_f32(args); }

}  // namespace intaglio
