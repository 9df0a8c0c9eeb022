// The remedy for an int8 model that is not good: chosen by the cause, tried once, and judged by samples that did not calibrate it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/calibration_figures.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

// A remedy gains at least so many dB, or it is none.
inline constexpr double kLeastRemedyGain = 1.0;

// The int8 model that calibrate() has made, and how.
struct RemedyJob {
  const LoadedModel& file;  // the FP32 model
  const Model& int8;
  CalibrationSamples& samples;
  const std::vector<Digest>& digests;  // of the samples
  const CalibratorOptions& options;
  std::optional<RecoveryMask> recover;  // as they were named, if they were
  const OutputsToJudge& outputs;
  const CalibrationFigures& figures;  // by samples that were held out
  const SessionOptions& execution;
};

// The changes of the options that the cause asks for: options that cost decibels are left out, where there are any. Else, where the
// samples are not too few, the layers that make most of the error stay in FP32. Then one more calibration with them, judged as the first was. Which it is
// follows from the samples and the network, never from a clock; its times are measured. A trial without changes says in
// `untried` why there is none: the samples are too few, the network has too many products and layers, or no few layers make the error.
Outcome<RemedyTrial> try_remedy(const RemedyJob& job, Work& work);

// "--keep-float @3,@7", "without --int8-answers"
std::string option_text(const OptionChanges& changes);

// Puts what was tried into the verdict's remedy.
void name_remedy(const RemedyTrial& trial, CalibrationFigures& figures);

}  // namespace intaglio::tools
