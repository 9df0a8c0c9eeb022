#include "calibrator/quantization/rounding.h"

namespace intaglio {
namespace {

// Whether |x| = whole + fraction goes to whole + 1.
bool goes_out(Rounding rounding, bool negative, bool odd, double fraction) {
  if (rounding == Rounding::kUp) return !negative && fraction > 0.0;
  if (fraction != 0.5) return fraction > 0.5;
  switch (rounding) {
    case Rounding::kHalfEven:
      return odd;
    case Rounding::kHalfUp:
      return !negative;
    case Rounding::kHalfDown:
      return negative;
    case Rounding::kHalfTowardsZero:
      return false;
    default:
      return true;
  }
}

}  // namespace

double round_by(Rounding rounding, double x) {
  constexpr double kWhole = 0x1p52;  // from here on a double has no fraction
  const bool negative = x < 0.0;
  const double magnitude = negative ? -x : x;
  if (!(magnitude < kWhole)) return x;
  const auto whole = static_cast<int64_t>(magnitude);
  const double fraction = magnitude - static_cast<double>(whole);  // exact
  const bool out = goes_out(rounding, negative, (whole & 1) != 0, fraction);
  const auto rounded = static_cast<double>(whole + (out ? 1 : 0));
  return negative ? -rounded : rounded;
}

}  // namespace intaglio
