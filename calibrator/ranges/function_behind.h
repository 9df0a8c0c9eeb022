// A tensor that a function of one variable alone reads (hard-swish, sigmoid, GELU): what an error of it is worth is what it
// does to the function's value. Values that the function does not tell apart need no codes of their own: hard-swish is 0
// below -3, and a convolution before it often reaches -100.
#pragma once

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/scales.h"
#include "intaglio/model.h"

namespace intaglio {

struct FunctionBehind {
  double (*function)(const NodeOptions& options, double x) = nullptr;
  NodeOptions options;
  float value[kBins];   // at the middle of each of an observer's bins
  float weight[kBins];  // the square of its slope there

  double at(double x) const { return function(options, x); }
};

// Fills value and weight for the bins of `observer`. False where the function stretches what it is given to more than twice
// (1 / x, exp of large numbers): its few largest values would then decide alone, and the tensor is looked at by itself.
bool look_behind(const TensorObserver& observer, FunctionBehind& behind);

// The least range, with zero, beyond whose ends the function stays as it is at the outermost values seen, up to 2^-10 of
// what it ranges over: a quarter of a step of its own codes.
Range told_apart(const TensorObserver& observer, const FunctionBehind& behind);

}  // namespace intaglio
