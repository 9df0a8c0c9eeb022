// The figures of `calibrate` for samples that it has not seen.
#pragma once

#include "calibrator/host/accuracy/held_out.h"
#include "cli/calibration_figures.h"
#include "cli/calibration_samples.h"

namespace intaglio::cli {

// After finish(): figures.held_out and figures.judged. Samples that --min-sqnr or --max-drop held out judge the model
// that was written; else those that calibrated it judge models of each other. `fp32_classes`: of the samples that
// calibrated, where there are classes. `repeats`: finish() had the samples again.
Error judge_held_out(HeldOut& held_out, CalibrationSamples& samples, const std::vector<int32_t>& fp32_classes,
                     bool repeats, CalibrationFigures& figures);

}  // namespace intaglio::cli
