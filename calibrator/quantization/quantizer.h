// Reals to codes and back by a config of any kind: what int8 holds, and what is only simulated.
//
//   linear:       q = clip(R(x / s) + z, lo, hi),  x = s (q - z)
//   exponential:  q = sign(x) clip(R(log2(|x| / s)), 0, hi),  x = sign(q) s 2^|q|, and 0 for q = 0
//
// R: the config's rounding. All in double.
#pragma once

#include "calibrator/quantization/scales.h"

namespace intaglio {

// NaN gives the zero point.
int64_t quantize_real(double x, const QuantConfig& config, const QuantParams& params);
double real_of_code(int64_t code, const QuantConfig& config, const QuantParams& params);

// The code whose real number is nearest to `x`, whatever the rounding: for a number that was a code once.
int64_t code_of_real(double x, const QuantConfig& config, const QuantParams& params);

}  // namespace intaglio
