// Half precision to float, exact.
#pragma once

#include <cstdint>

namespace intaglio {

float real_of_half(uint16_t half);    // IEEE binary16; NaN stays one
float real_of_bfloat(uint16_t half);  // the upper half of a float

}  // namespace intaglio
