// Average and maximum over taps (taps.h), FP32.
//
//   average  sum = 0 + x[first tap] + x[second tap] + ..., one rounding each; finish(sum / float(n)),
//            n the valid taps, or all where padding counts
//   maximum  max(max(first, second), third) ..., max(a, b) = a > b ? a : b; then finish()
//
// Without a valid tap the result is finish(0). finish() is that of output_f32.h. y overlaps nothing.
#pragma once

#include "intaglio/isa.h"
#include "kernels/arithmetic/canonical_f32.h"
#include "kernels/pool/taps.h"

namespace intaglio {

using AverageF32 = void(const float* x, const Taps& taps, int32_t n, const ClampF32& clamp, float* y,
                        int32_t channels);
using MaxF32 = void(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels);

// A function is nullptr where this build has not compiled it.
struct PoolF32Kernel {
  const char* name;
  IsaMask isa;
  AverageF32* average;
  MaxF32* max;
};

// Best first. The scalar kernel is the last one.
int32_t pool_f32_count();
const PoolF32Kernel& pool_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t pool_f32_select(IsaMask isa);

}  // namespace intaglio
