// Where Resize finds an output's coordinate in its input: the quotients of kernels/resize/resize_rows.h.
#pragma once

#include <cstdint>

#include "intaglio/node_options.h"

namespace intaglio {

// Division that rounds down, for numerators below zero as well; b > 0. Of 32 bits where they suffice: small CPUs have no instruction for more.
template <typename Int>
constexpr Int floor_div(Int a, Int b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

// The nearest whole number to a / b; b > 0.
template <typename Int>
Int round_quotient(NearestRounding rounding, Int a, Int b) {
  switch (rounding) {
    case NearestRounding::kFloor:
      break;
    case NearestRounding::kCeil:
      return -floor_div(-a, b);
    case NearestRounding::kHalfDown:
      return -floor_div(b - 2 * a, 2 * b);
    case NearestRounding::kHalfUp:
      return floor_div(2 * a + b, 2 * b);
  }
  return floor_div(a, b);
}

}  // namespace intaglio
