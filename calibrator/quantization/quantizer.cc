#include "calibrator/quantization/quantizer.h"

#include "runtime/real_functions.h"

namespace intaglio {

namespace {

int64_t clipped(double code, double lo, double hi) {
  return static_cast<int64_t>(code < lo ? lo : (code > hi ? hi : code));
}

}  // namespace

int64_t quantize_real(double x, const QuantConfig& config, const QuantParams& params) {
  if (x != x) return params.zero_point;
  const auto scale = static_cast<double>(params.scale), hi = static_cast<double>(config.hi);
  if (!config.has(policy::kExponential))
    return clipped(round_by(config.rounding, x / scale) + params.zero_point, static_cast<double>(config.lo),
                   hi);
  if (x == 0.0) return 0;
  const double octave = log2_real((x < 0.0 ? -x : x) / scale);
  const int64_t exponent = clipped(round_by(config.rounding, octave), 0.0, hi);
  return x < 0.0 ? -exponent : exponent;
}

double real_of_code(int64_t code, const QuantConfig& config, const QuantParams& params) {
  const auto scale = static_cast<double>(params.scale);
  if (!config.has(policy::kExponential)) return scale * static_cast<double>(code - params.zero_point);
  if (code == 0) return 0.0;
  double value = scale;
  for (int64_t i = 0; i < (code < 0 ? -code : code) && value < 1e300; ++i) value *= 2.0;
  return code < 0 ? -value : value;
}

int64_t code_of_real(double x, const QuantConfig& config, const QuantParams& params) {
  QuantConfig nearest = config;
  nearest.rounding = Rounding::kHalfEven;
  return quantize_real(x, nearest, params);
}

namespace {

// Whether |x| = whole + fraction goes to whole + 1.
bool goes_out(Rounding rounding, bool negative, bool odd, double fraction) {
  if (rounding == Rounding::kUp || rounding == Rounding::kDown)
    return negative == (rounding == Rounding::kDown) && fraction > 0.0;
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
