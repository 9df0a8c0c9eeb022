// The checks of Calibrator::measure() and create().
#pragma once

#include "intaglio/calibrator.h"

namespace intaglio {

// Options that are out of range, contradict each other, or name what the model does not have.
Error check_options(const CalibratorOptions& options, const Model& model);
// kNotFloat, with the tensor, where a tensor is neither FP32 nor a constant of indices.
Error check_float(const Model& model);
// kNonFinite, with tensor and channel, where a weight or other constant is not finite.
Error check_constants(const Model& model, IsaMask isa);

// The recoveries of the options that have something to do in such a model.
RecoveryMask possible_recoveries(const Model& fp32, const CalibratorOptions& options);

}  // namespace intaglio
