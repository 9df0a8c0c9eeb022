#include "calibrator/quantization/quantizer.h"

#include "calibrator/quantization/rounding.h"
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

}  // namespace intaglio
