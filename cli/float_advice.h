// Which layers to keep in FP32, and what that would gain and cost, measured on the network itself.
#pragma once

#include <optional>
#include <vector>

#include "cli/calibration_samples.h"
#include "cli/output.h"

namespace intaglio::cli {

struct FloatAdvice {
  std::vector<int32_t> nodes;  // of the FP32 model, ascending, without those that are kept anyway
  size_t layers = 0;           // that they make
  double sqnr_gain = 0.0;      // dB that the output gains: calibrated so, on the calibration samples
  double time = 1.0;   // of a run, over that of the int8 model: layer by layer, as both ran on this machine
  double bytes = 1.0;  // of the file, likewise
};

// Calibrates up to four times with `options` and more nodes in FP32. Nothing where no few layers gain half a decibel.
Outcome<std::optional<FloatAdvice>> advise_float_layers(const LoadedModel& fp32, const Model& int8,
                                                        CalibrationSamples& samples,
                                                        const CalibratorOptions& options,
                                                        const SessionOptions& execution,
                                                        ProgressLine& progress);

}  // namespace intaglio::cli
