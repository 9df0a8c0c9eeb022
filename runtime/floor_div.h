// Division that rounds down, for numerators below zero as well.
#pragma once

#include <cstdint>

namespace intaglio {

// b > 0.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

}  // namespace intaglio
