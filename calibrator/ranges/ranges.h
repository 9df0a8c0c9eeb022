// From a histogram to a range: the table of methods, and what percentile, KL and ACIQ assume of the values.
#pragma once

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/scales.h"
#include "calibrator/workspace/float_model.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// A tensor that a function of one variable alone reads (hard-swish, sigmoid, GELU): what an error of it is worth is what it
// does to the function's value. Values that the function does not tell apart need no codes of their own: hard-swish is 0
// below -3, and a convolution before it often reaches -100.
//
// With factors a channel it is the mean over channels of function(in x) / out.
struct FunctionBehind {
  struct Level {
    double in = 1.0, out = 1.0;
    double share = 1.0;  // of the channels
  };

  double (*function)(const NodeOptions& options, double x) = nullptr;
  NodeOptions options;
  Level levels[FunctionFactors::kGroups];
  int32_t level_count = 1;
  Span<float> value;   // room for as many as an observer has bins: at the middle of each
  Span<float> weight;  // likewise: the square of its slope there

  void set_factors(const FunctionFactors& factors, size_t channels);
  double at(double x, const Level& level) const { return function(options, level.in * x) / level.out; }
  double at(double x) const;
};

// Fills value and weight for the bins of `observer`. False where the function stretches what it is given to more than twice
// (1 / x, exp of large numbers): its few largest values would then decide alone, and the tensor is looked at by itself.
bool look_behind(const TensorObserver& observer, FunctionBehind& behind);

// The least range, with zero, beyond whose ends the function stays as it is at the outermost values seen, up to 2^-10 of
// what it ranges over: a quarter of a step of its own codes.
Range told_apart(const TensorObserver& observer, const FunctionBehind& behind);

// Ranges from a model of the values' distribution: KL and ACIQ. None is wider than what has been seen.

// The range of every value seen, and zero.
Range seen_range(const TensorObserver& observer);

// The end t of least Kullback-Leibler divergence sum P ln(P / Q), P the distribution of |x| over the bins
// that are not at zero (zero has a code of its own, however many values there are), Q that of the quantized
// values over the same bins: each code's share spread over its bins that are not empty, everything past t on
// the last code, and a sliver of a count for a bin past t. Ends from the largest value's down are tried, 16 bins
// apart, then those less than 16 bins from the best of them; of equal ones the widest is taken. Trying each would take ten
// times as long, which is most of a calibration on a board.
Range kl_range(const TensorObserver& observer, const QuantConfig& config);

// Least expected squared error of rounding and clipping for a Gaussian or a Laplacian, whichever has the
// measured ratio of mean deviation and standard deviation, with the measured spread (Banner et al., 2019).
Range aciq_range(const TensorObserver& observer, const QuantConfig& config, bool non_negative);

// The end alpha * deviation of that range for a distribution around zero and codes `steps` apart over [-end,
// end]: 3.92403714 for a Gaussian and 9.89675982 for a Laplacian (in units of its mean deviation) with 256.
double gaussian_end(double steps);
double laplacian_end(double steps);

// From what has been seen of a tensor to the range that its codes cover.

// Bounds of a tensor's values that hold before any are observed: from its fused activation, or its sign.
struct Bounds {
  double lo, hi;  // infinite where nothing is known

  bool non_negative() const { return lo >= 0.0; }
};

// `range` with zero, and no further than the bounds.
Range within(const Range& range, const Bounds& bounds);

// The values that a config has codes for.
Range range_of(const QuantConfig& config);

// The range of a constant of reals, with zero.
Range range_of_constant(const TensorInfo& info);

// The range for a config: by its observer's method (range_methods.inc), scored on the grid that its bits and policy give.
// `percentile` in (0.5, 1] is the share of the values that RangeMethod::kPercentile keeps.
// Squared errors are those of the function behind the tensor, if one is given.
// An observer with counts, unless the method needs none (bins_for()).
Range choose_range(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& config,
                   double percentile, const FunctionBehind* behind = nullptr);

// Bins of each histogram that the methods asked for need. Minimum and maximum need none: 0, unless a
// report is asked for, which shows how values are spread.
int32_t bins_for(const CalibratorOptions& options);

}  // namespace intaglio
