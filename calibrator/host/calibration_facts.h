// Facts about a running calibration: how far it is, what it has seen, and what it lacks.
#pragma once

#include <vector>

#include "calibrator/host/system/outcome.h"
#include "calibrator/state/calibration_state.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// For the steps that the options ask for (steps_of()).
int32_t steps_done(const Calibrator& calibrator);

// Valid while the calibrator is; it grows with each sample.
const CalibrationState& samples_seen(const Calibrator& calibrator);

// Activations that have no scale although all of options.known is given and there are no samples.
Outcome<std::vector<int32_t>> missing_params(const Model& model, CalibratorOptions options);

}  // namespace intaglio
