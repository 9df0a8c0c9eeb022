// Ranges from a model of the values' distribution: KL and ACIQ. None is wider than what has been seen.
#pragma once

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/scales.h"

namespace intaglio {

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

}  // namespace intaglio
