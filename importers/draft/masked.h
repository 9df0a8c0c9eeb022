// Infinities in constants, with which exporters mask.
#pragma once

namespace intaglio::importers {

// What stands for one: e to the power of its negative is 0 as well, and two of them have a sum.
inline constexpr float kMasked = 0x1p127f;

}  // namespace intaglio::importers
