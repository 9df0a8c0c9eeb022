// Softmax of one row of int8 codes, from a baked table (DESIGN section 4).
//
//   t[i] = table[max(x) - x[i]]                       table[d] = rne(exp(-d * s_in) * 2^k)
//   r = reciprocal_scale / float(sum of t)            reciprocal_scale = f32(1) / s_out
//   y[i] = clamp_and_round(float(t[i]) * r)           one conversion, one multiply
//
// Entries lie in [0, 2^30 / n] and table[0] >= 1, so the sum fits int32 and is not zero. y may be x.
#pragma once

#include "kernels/requant.h"

namespace intaglio {

void softmax_s8(const int8_t* x, const int32_t* table, float reciprocal_scale, const OutputS8& output,
                int8_t* y, int32_t n);

}  // namespace intaglio
