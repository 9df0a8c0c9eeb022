// Floats of 16, 8 and 4 bits to float, exact.
#pragma once

#include <cstdint>

namespace intaglio {

float real_of_half(uint16_t half);    // IEEE binary16; NaN stays one
float real_of_bfloat(uint16_t half);  // the upper half of a float

// As weights are stored: bits of exponent (E) and of fraction (M). Fnuz: no infinity and no -0, whose code is NaN.
enum class SmallFloat : uint8_t { kE2M1, kE4M3, kE4M3Fnuz, kE5M2, kE5M2Fnuz, kE8M0 };
float real_of_small_float(int32_t code, SmallFloat type);

}  // namespace intaglio
