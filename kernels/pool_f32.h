// Average and maximum over taps (taps.h), FP32.
//
//   average  sum = 0 + x[first tap] + x[second tap] + ..., one rounding each; finish(sum / float(n)),
//            n the valid taps, or all where padding counts
//   maximum  max(max(first, second), third) ..., max(a, b) = a > b ? a : b; then finish()
//
// Without a valid tap the result is finish(0). finish() is that of output_f32.h. y overlaps nothing.
#pragma once

#include "kernels/canonical_f32.h"
#include "kernels/taps.h"

namespace intaglio {

void average_f32(const float* x, const Taps& taps, int32_t n, const ClampF32& clamp, float* y,
                 int32_t channels);

void max_f32(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels);

}  // namespace intaglio
