// Average and maximum over taps (taps.h), int16 codes, whose zero point is 0.
//
//   average  sum of x over the valid taps, exact; q = requantize_s16(sum, multiplier)             (requant_s16.h)
//            multiplier as of pool_s8.h
//   maximum  the largest code, then clamped to [lo, hi]; input and output have one scale
//
// Without a valid tap the result is 0, clamped. At most 65535 taps: the sum fits int32. y overlaps nothing.
#pragma once

#include "kernels/arithmetic/requant_s16.h"
#include "kernels/pool/taps.h"

namespace intaglio {

void average_s16(const int16_t* x, const Taps& taps, float multiplier, const OutputS16& output, int16_t* y,
                 int32_t channels);
void max_s16(const int16_t* x, const Taps& taps, int32_t lo, int32_t hi, int16_t* y, int32_t channels);

}  // namespace intaglio
