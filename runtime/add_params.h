// Integer multipliers of an int8 addition, from three scales (docs/arithmetic.md): no floating point, so every
// machine makes the same ones.
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

inline constexpr int32_t kAddBits = 15;     // of the larger multiplier, where a model does not say otherwise
inline constexpr int32_t kMaxAddBits = 20;  // sums of two products then stay within int32

// M_x = rne(s_x / s_out * 2^k), k in [1, 30] such that the larger has `bits` bits, kAddBits to kMaxAddBits.
// False where a scale is not a positive normal number, or where the larger multiplier has more even with k
// = 1.
bool make_add_s8(float s_a, int32_t z_a, float s_b, int32_t z_b, float s_out, int32_t z_out, int32_t lo,
                 int32_t hi, AddS8* params, int32_t bits = kAddBits);

}  // namespace intaglio
