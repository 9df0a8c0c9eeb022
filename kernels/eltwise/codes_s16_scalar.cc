#include "kernels/compiled_isa.h"
#include "kernels/eltwise/codes_s16.h"
#include "kernels/eltwise/codes_s16_loops.h"

namespace intaglio {
namespace {

#define ITG_CODES_S16(isa)                                                                                   \
  ITG_KERNEL(                                                                                                \
      CodesS16Kernel, codes_s16, isa,                                                                        \
      ITG_COMPILED(isa, k.quantize = quantize_s16_##isa; k.real = real_s16_##isa; k.widen = widen_s16_##isa; \
                   k.narrow = narrow_s16_##isa; k.rescale = rescale_s16_##isa; k.add = add_s16_##isa;        \
                   k.mul = mul_s16_##isa; k.lookup = lookup_s16_##isa;))
constexpr CodesS16Kernel kKernels[] = {
#include "kernels/eltwise/codes_s16_kernels.inc"
};
#undef ITG_CODES_S16

}  // namespace

ITG_KERNEL_LIST(CodesS16Kernel, codes_s16, kKernels)
ITG_FIRST_ALLOWED(codes_s16, kKernels)

ITG_CODES_S16_FUNCTIONS(scalar, lookup_codes_s16)

}  // namespace intaglio
