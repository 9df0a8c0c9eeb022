// From what has been seen of a tensor to the range that its codes cover.
#pragma once

#include "calibrator/ranges/function_behind.h"

namespace intaglio {

// What is known of a tensor's values before any are seen: its fused activation, or its sign.
struct Bounds {
  double lo, hi;  // infinite where nothing is known

  bool non_negative() const { return lo >= 0.0; }
};

// `range` with zero, and no further than the bounds.
Range within(const Range& range, const Bounds& bounds);

// The values that a config has codes for.
Range range_of(const QuantConfig& config);

// Of a constant of reals, with zero.
Range range_of_constant(const TensorInfo& info);

// The range for a config: by its observer's method (range_methods.inc), scored on the grid that its bits and policy give.
// `percentile` in (0.5, 1] is the share of the values that RangeMethod::kPercentile keeps.
// Squared errors are those of the function behind the tensor, if one is given.
Range choose_range(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& config,
                   double percentile, const FunctionBehind* behind = nullptr);

}  // namespace intaglio
