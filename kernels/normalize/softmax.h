// Softmax of one row: of int8 codes and of int16 codes, from baked tables (docs/arithmetic.md), and of FP32.
//
// int8:
//
//   t[i] = table[max(x) - x[i]]                       table[d] = rne(exp(-d * s_in) * 2^k)
//   r = reciprocal_scale / float(sum of t)            reciprocal_scale = f32(1) / s_out
//   y[i] = clamp_and_round(float(t[i]) * r)           one conversion, one multiply
//
// Entries lie in [0, 2^30 / n] and table[0] >= 1, so the sum fits int32 and is not zero. y may be x.
#pragma once

#include <cstdint>

#include "intaglio/isa.h"
#include "kernels/arithmetic/blocked_sum.h"
#include "kernels/arithmetic/requant.h"
#include "kernels/arithmetic/requant_s16.h"
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

// int16:
//
//   t[i] = (table[d >> 8] * table[256 + (d & 255)] + 2^29) >> 30     d = max(x) - x[i]; the product in 64 bits
//   r = reciprocal_scale / float(sum of t)                           reciprocal_scale = f32(1) / s_out
//   y[i] = clamp_and_round_s16(float(t[i]) * r)                      one conversion, one multiply
//
//   table[i] = rne(exp(-256 * i * s_in) * 2^k), table[256 + j] = rne(exp(-j * s_in) * 2^30), for i and j below 256
//
// Entries are not negative; the first 256 are at most 2^30 / n, the others 2^30; table[0] >= 1, table[256] = 2^30. So a t is
// at most 2^30 / n, the sum fits int32 and is not zero. y may be x.

inline constexpr int32_t kSoftmaxTableS16 = 512;

using SoftmaxS16 = void(const int16_t* x, const int32_t* table, float reciprocal_scale, int16_t* y,
                        int32_t n);

// t of an element that is d below the largest.
static inline int32_t softmax_entry_s16(const int32_t* table, int32_t d) {
  return static_cast<int32_t>((int64_t{table[d >> 8]} * table[256 + (d & 255)] + (1 << 29)) >> 30);
}

#define ITG_SOFTMAX_S16(isa) SoftmaxS16 softmax_s16_##isa;
#include "kernels/normalize/softmax_s16_kernels.inc"
#undef ITG_SOFTMAX_S16

// The function is nullptr where this build has not compiled it.
struct SoftmaxS16Kernel {
  const char* name;
  IsaMask isa;
  SoftmaxS16* function;
};

// Best first. The scalar kernel is the last one.
#define ITG_SOFTMAX_S16(isa) \
  ITG_KERNEL(SoftmaxS16Kernel, softmax_s16, isa, ITG_COMPILED(isa, k.function = softmax_s16_##isa;))
constexpr SoftmaxS16Kernel kSoftmaxS16Kernels[] = {
#include "kernels/normalize/softmax_s16_kernels.inc"
};
#undef ITG_SOFTMAX_S16

static inline constexpr int32_t softmax_s16_count() {
  return static_cast<int32_t>(sizeof kSoftmaxS16Kernels / sizeof kSoftmaxS16Kernels[0]);
}
static inline const SoftmaxS16Kernel& softmax_s16_kernel(int32_t index) {
  return kSoftmaxS16Kernels[softmax_s16_count() == 1 ? 0 : index];
}
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
static inline int32_t softmax_s16_select(IsaMask isa) { return first_allowed(kSoftmaxS16Kernels, isa); }

// FP32:
//
//   m = max(max(x[0], x[1]), x[2]) ..., max(a, b) = a > b ? a : b
//   e[i] = exp_f32(x[i] - m); y[i] = e[i] / sum of e, in blocks of `block` (blocked_sum.h)
//
// Where an element is NaN or +inf, or all are -inf, all results are NaN; so the order of the maxima, and
// which zero is the largest, is free. Results are canonical. y may be x.

using SoftmaxF32 = void(const float* x, float* y, int32_t n, int32_t block);

struct SoftmaxF32Kernel {
  const char* name;
  IsaMask isa;
  SoftmaxF32* function;  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t softmax_f32_count();
const SoftmaxF32Kernel& softmax_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t softmax_f32_select(IsaMask isa);

}  // namespace intaglio
