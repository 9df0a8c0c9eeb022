// Integer multipliers of an int8 addition, from three scales (docs/arithmetic.md): no floating point, so every
// machine makes the same ones.
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

inline constexpr int32_t kAddBits = 15;     // of the larger multiplier, where a model does not say otherwise
inline constexpr int32_t kMaxAddBits = 21;  // sums of two products then stay within int32

// Sets both multipliers, rne(s_x / s_out * 2^k), and the shift k, in [1, 30] such that the larger multiplier
// has `bits` bits, kAddBits to kMaxAddBits. Of kMaxAddBits, XNNPACK's, the ratio is rounded to single precision
// first, as there. False where a scale is not a positive normal number, or where the
// larger multiplier has more bits even with k = 1: params are then as they were.
bool set_add_multipliers(float s_a, float s_b, float s_out, AddS8* params, int32_t bits = kAddBits);

}  // namespace intaglio
