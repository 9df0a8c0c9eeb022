// Weights whose codes are beyond int8, as those with a zero point may be: the scale that loses least.
#pragma once

#include "intaglio/span.h"
#include "runtime/real_functions.h"

namespace intaglio {

// The factor, 1 at most, by which numbers become int8 codes with the least error. Tried are steps between cutting all beyond off
// at the last code, and a last code for the largest. The mean of what a layer reads multiplies an error of the sum, which
// therefore counts fourfold. `keeps_sum`: rounding does not change the sum; cutting does.
inline double coarser_factor(Span<const double> numbers, bool keeps_sum) {
  constexpr int32_t kTried = 32;
  constexpr double kOfSum = 4.0;
  double widest = 1.0;
  for (const double x : numbers) {
    const double step = x < 0.0 ? x / -128.0 : x / 127.0;
    widest = step > widest ? step : widest;
  }
  double best = 1.0, least = -1.0;
  for (int32_t i = 0; i <= kTried; ++i) {
    const double step = 1.0 + (widest - 1.0) * i / kTried;
    double error = 0.0, sum = 0.0;
    for (const double x : numbers) {
      const double code = round_even(x / step), held = code < -128.0 ? -128.0 : code > 127.0 ? 127.0 : code;
      const double lost = x - held * step;
      error += lost * lost;
      if (held != code || !keeps_sum) sum += lost;
    }
    error += kOfSum * sum * sum;
    if (least >= 0.0 && error >= least) continue;
    least = error;
    best = step;
  }
  return 1.0 / best;
}

}  // namespace intaglio
