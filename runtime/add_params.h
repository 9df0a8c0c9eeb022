// Integer multipliers of an int8 addition, from three scales (DESIGN section 4): no floating point, so every
// machine makes the same ones.
#pragma once

#include "kernels/requant.h"

namespace intaglio {

// M_x = rne(s_x / s_out * 2^k), k in [1, 30] such that the larger has 15 bits. False where a scale is not a
// positive normal number, or where the larger multiplier is above 2^15 even with k = 1.
bool make_add_s8(float s_a, int32_t z_a, float s_b, int32_t z_b, float s_out, int32_t z_out, int32_t lo,
                 int32_t hi, AddS8* params);

}  // namespace intaglio
