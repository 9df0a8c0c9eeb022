#include "kernels/eltwise/grouped_lookup_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GROUPED_LOOKUP_S8(isa) void grouped_lookup_s8_##isa(const GroupedLookupS8& work);
#include "kernels/eltwise/grouped_lookup_s8_kernels.inc"
#undef ITG_GROUPED_LOOKUP_S8

namespace {

#define ITG_GROUPED_LOOKUP_S8(isa)                          \
  ITG_KERNEL(GroupedLookupS8Kernel, grouped_lookup_s8, isa, \
             ITG_COMPILED(isa, k.lookup = grouped_lookup_s8_##isa;))
constexpr GroupedLookupS8Kernel kKernels[] = {
#include "kernels/eltwise/grouped_lookup_s8_kernels.inc"
};
#undef ITG_GROUPED_LOOKUP_S8

}  // namespace

ITG_KERNEL_LIST(GroupedLookupS8Kernel, grouped_lookup_s8, kKernels)
ITG_FIRST_ALLOWED(grouped_lookup_s8, kKernels)

}  // namespace intaglio
