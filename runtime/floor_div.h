// Division that rounds down, for numerators below zero as well.
#pragma once

#include <cstdint>

namespace intaglio {

// b > 0. Of 32 bits where they suffice: small CPUs have no instruction for more.
template <typename Int>
constexpr Int floor_div(Int a, Int b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

}  // namespace intaglio
