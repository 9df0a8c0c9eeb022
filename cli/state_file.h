// What a calibration has seen, in a file: calibrate --state.
#pragma once

#include <string>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/outcome.h"
#include "calibrator/state/calibration_state.h"

namespace intaglio::cli {

Outcome<Done> load_state(const std::string& path, const Model& model, Calibrator& calibrator);
// `before`: what stood there when this program began, so that no other one's samples are lost.
Outcome<Done> save_state(const OutputFile& file, const Calibrator& calibrator);

// Warns where what has been added since `before` are just the samples that the file held: most often the same
// command, given twice.
void warn_of_doubling(const std::string& path, const CalibrationState& before, const CalibrationState& now);

}  // namespace intaglio::cli
