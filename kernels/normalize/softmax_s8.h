// Softmax of one row of int8 codes, from a baked table (docs/arithmetic.md).
//
//   t[i] = table[max(x) - x[i]]                       table[d] = rne(exp(-d * s_in) * 2^k)
//   r = reciprocal_scale / float(sum of t)            reciprocal_scale = f32(1) / s_out
//   y[i] = clamp_and_round(float(t[i]) * r)           one conversion, one multiply
//
// Entries lie in [0, 2^30 / n] and table[0] >= 1, so the sum fits int32 and is not zero. y may be x.
#pragma once

#include "kernels/arithmetic/requant.h"
#include "kernels/compiled_isa.h"

namespace intaglio {

using SoftmaxS8 = void(const int8_t* x, const int32_t* table, float reciprocal_scale, const OutputS8& output,
                       int8_t* y, int32_t n);

#define ITG_SOFTMAX_S8(isa) SoftmaxS8 softmax_s8_##isa;
#include "kernels/normalize/softmax_s8_kernels.inc"
#undef ITG_SOFTMAX_S8

// The function is nullptr where this build has not compiled it.
struct SoftmaxS8Kernel {
  const char* name;
  IsaMask isa;
  SoftmaxS8* function;
};

// Best first. The scalar kernel is the last one. The list is the compiler's to see: of one that has a single
// kernel, as on a Cortex-M, nothing is left but the call.
#define ITG_SOFTMAX_S8(isa) \
  ITG_KERNEL(SoftmaxS8Kernel, softmax_s8, isa, ITG_COMPILED(isa, k.function = softmax_s8_##isa;))
constexpr SoftmaxS8Kernel kSoftmaxS8Kernels[] = {
#include "kernels/normalize/softmax_s8_kernels.inc"
};
#undef ITG_SOFTMAX_S8

static inline constexpr int32_t softmax_s8_count() {
  return static_cast<int32_t>(sizeof kSoftmaxS8Kernels / sizeof kSoftmaxS8Kernels[0]);
}
static inline const SoftmaxS8Kernel& softmax_s8_kernel(int32_t index) {
  return kSoftmaxS8Kernels[softmax_s8_count() == 1 ? 0 : index];
}
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
static inline int32_t softmax_s8_select(IsaMask isa) { return first_allowed(kSoftmaxS8Kernels, isa); }

}  // namespace intaglio
