// What a calibration has seen, in a file: calibrate --state.
#pragma once

#include <string>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/outcome.h"
#include "calibrator/state/calibration_state.h"
#include "tools/sequences.h"

namespace intaglio::tools {

Outcome<Done> load_state(const std::string& path, const Model& model, Calibrator& calibrator);
// `before`: what stood there when this program began, so that no other one's samples are lost.
Outcome<Done> save_state(const OutputFile& file, const Calibrator& calibrator);

// Warns where what has been added since `before` are just the samples that the file held: most often the same
// command, given twice.
void warn_of_doubling(const std::string& path, const CalibrationState& before, const CalibrationState& now,
                      Work& work);

// What the states of a model hold before each sample of its sequences.

// Runs the samples through `file`, in FP32, and puts the states that each begins with behind the values of its inputs. From
// then on they fill the inputs of the step model.
Outcome<Done> record_states(const LoadedModel& file, const SessionOptions& options,
                            const Sequences& sequences, Samples& samples);

}  // namespace intaglio::tools
