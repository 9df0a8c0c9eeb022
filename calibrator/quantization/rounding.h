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
#pragma once

#include "intaglio/quant_config.h"

namespace intaglio {

// NaN gives NaN, an infinity itself, and what is too large for a fraction itself. Nothing is added before the
// fraction is known: 0.49999999999999994 + 0.5 is 1, and 0.49999999999999994 is nearest to 0.
double round_by(Rounding rounding, double x);

}  // namespace intaglio
