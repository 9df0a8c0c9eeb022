// From what has been seen of a tensor to the range that its codes cover.
#pragma once

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/scales.h"

namespace intaglio {

// What is known of a tensor's values before any are seen: its fused activation, or its sign.
struct Bounds {
  double lo, hi;  // infinite where nothing is known

  bool non_negative() const { return lo >= 0.0; }
};

// The factor that RangeMethod::kAuto multiplies the range of the values seen by: that which serves one half
// of the samples best on the values of the other, both ways.
double room_of(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& form);

// The range for a config: by its observer's method, scored on the grid that its bits and policy give.
// `percentile` in (0.5, 1] is the share of the values that RangeMethod::kPercentile keeps.
// RangeMethod::kAuto takes `room` for its factor, and room_of() where that is 0.
Range choose_range(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& form,
                   double percentile, double room = 0.0);

// The range for RangeMethod::kAuto of a vector of the network's head, which has as few values in a sample as
// it has channels: the largest are still to come. What is clipped here is an error of the answer, while
// rounding adds the least part of it. Each end is the largest that 256 samples are expected to show, by the
// spread s of the logarithms of what each sample showed:
//
//   end(256) = end(n) * 2^(s (z(256) - z(n)))   z(n): expected largest of n normal deviates
//   s^2 = (4 * 0.6^2 + (n - 1) * measured) / (n + 3), so that it is known with one sample, too
//
// Of both signs, the shorter end is at least half the longer.
Range vector_range(const TensorObserver& observer, const Bounds& bounds);

// `range`, and at least 1.3 times what the samples' probes reach (probes.h); with more than few samples that
// counts for kFewSamples / n of the way there.
inline constexpr uint32_t kFewSamples = 8;
Range with_probes(const Range& range, const TensorObserver& observer, const Bounds& bounds);

// Parameters that are tried at once: their sums do not wait for each other.
inline constexpr int32_t kTrials = 4;

// errors[t]: sum of the squared errors of `histogram`'s values on the codes of `form` with params[t], each
// added up in the order of the bins. Both [kTrials].
void quantization_errors(const TensorObserver& observer, const Histogram& histogram, const QuantConfig& form,
                         const QuantParams* params, double* errors);

}  // namespace intaglio
