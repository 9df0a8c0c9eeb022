// Reals to codes and back by a config of any kind: what int8 holds, and what is only simulated.
//
//   linear:       q = clip(R(x / s) + z, lo, hi),  x = s (q - z)
//   exponential:  q = sign(x) clip(R(log2(|x| / s)), 0, hi),  x = sign(q) s 2^|q|, and 0 for q = 0
//
// R: the config's rounding. All in double.
#pragma once

#include "calibrator/quantization/scales.h"
#include "intaglio/quant_config.h"

namespace intaglio {

// NaN gives the zero point.
int64_t quantize_real(double x, const QuantConfig& config, const QuantParams& params);
double real_of_code(int64_t code, const QuantConfig& config, const QuantParams& params);

// The code whose real number is nearest to `x`, whatever the rounding: for a number that was a code once.
int64_t code_of_real(double x, const QuantConfig& config, const QuantParams& params);

// The seven roundings of reals to integers, offline: exact for every double.
//
//                       -2.5  -1.5  -0.5   0.5   1.5   2.5
//   half even             -2    -2     0     0     2     2
//   half up               -2    -1     0     1     2     3
//   half down             -3    -2    -1     0     1     2
//   half towards zero     -2    -1     0     0     1     2
//   half far from zero    -3    -2    -1     1     2     3
//   to near int           -3    -2    -1     1     2     3
//   up                    -2    -1     0     1     2     3    (and 0.1 -> 1, -0.9 -> 0)

// NaN gives NaN, an infinity itself, and what is too large for a fraction itself. Nothing is added before the
// fraction is known: 0.49999999999999994 + 0.5 is 1, and 0.49999999999999994 is nearest to 0.
double round_by(Rounding rounding, double x);

}  // namespace intaglio
