// From what has been seen of a tensor to the range that its codes cover.
#pragma once

#include "calibrator/observer.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// lo <= 0 <= hi, so that zero has a code.
struct Range {
  double lo = 0.0, hi = 0.0;
};

// What is known of a tensor's values before any are seen: its fused activation, or the pixel values.
struct Bounds {
  double lo, hi;        // infinite where nothing is known
  bool filled = false;  // an image input: these bounds are the range, so that pixels lose nothing
};

Range choose_range(const TensorObserver& observer, const Bounds& bounds, const CalibratorOptions& options);

// Mean squared error of a value of `histogram` after quantization to 256 codes over `range`, times the count.
double quantization_error(const TensorObserver& observer, const Histogram& histogram, const Range& range);

}  // namespace intaglio
