// Sums of a run of weights, and of their magnitudes: what a loader proves accumulators with. |sum| and
// magnitude are exact for n up to 2^40.
#pragma once

#include <cstdint>

namespace intaglio {

struct WeightSums {
  int64_t sum, magnitude;
};

WeightSums sum_weights(const int8_t* w, int64_t n);

}  // namespace intaglio
