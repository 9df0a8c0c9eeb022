// Infinities in constants, with which exporters mask, and numbers that are nearly as large.
#pragma once

namespace intaglio::importers {

// What stands for one: e to the power of its negative is 0 as well. Many of them have a sum, also with the largest float, which
// they do not change.
inline constexpr float kMasked = 0x1p100f;

}  // namespace intaglio::importers
