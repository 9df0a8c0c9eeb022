// Properties of a model's constants that a loader checks, each time that it is opened.
#pragma once

#include <cstdint>

namespace intaglio {

// Sums of a run of weights, and of their magnitudes: what a loader proves accumulators with. |sum| and
// magnitude are exact for n up to 2^40.
struct WeightSums {
  int64_t sum, magnitude;
};

WeightSums sum_weights(const int8_t* w, int64_t n);

// Whether no value is infinite or NaN.
bool all_finite(const float* x, int64_t n);

}  // namespace intaglio
