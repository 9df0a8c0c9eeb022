// One calibration with samples, once its command line has been read and checked.
#pragma once

#include <chrono>

#include "cli/calibrated_steps.h"
#include "cli/calibration_samples.h"
#include "cli/float_search.h"
#include "cli/import_options.h"
#include "cli/known_params.h"
#include "cli/loaded_model.h"
#include "cli/quantization_options.h"
#include "cli/sample_checks.h"

namespace intaglio::cli {

struct CalibrateArguments {
  std::string model, output, state, report, memory = "flat";
  ImportChoices network;  // where the model is a network's file
  SampleArguments samples;
  ExecutionOptions execution;
  std::string recover = "default";
  int64_t steps = 0;
  bool int8_states = false;
  QuantizationArguments quantization;
  FloatSearchArguments float_search;
  ParamsArguments params;
  bool json = false;
  GivenWords words;  // the command line as it was given; below: what 'intaglio import' takes as well

  // Which a model, a report or a state must not replace.
  std::vector<std::string> model_files() const {
    return params.file.empty() ? std::vector<std::string>{model}
                               : std::vector<std::string>{model, params.file};
  }
  // Everything is to come from a file of parameters.
  bool without_samples() const {
    return !params.file.empty() && samples.images.empty() && samples.inputs.empty();
  }
};

// What it writes; a name that is empty is not written.
struct CalibrationOutputs {
  explicit CalibrationOutputs(const CalibrateArguments& arguments)
      : model(arguments.output), report(arguments.report), state(arguments.state) {}
  OutputFile model, report, state;
};

// What stays the same from the first sample to the last.
struct CalibrationJob {
  const CalibrateArguments& arguments;
  const CalibrationOutputs& outputs;
  const CalibratedSteps& steps;
  const LoadedModel& file;
  const KnownParamsFile& known;
  CalibrationSamples& samples;
  const SampleFacts& facts;
  const SessionOptions& execution;
  const MemoryGoal& goal;
  ProgressLine& progress;
  std::chrono::steady_clock::time_point start;
};

// Writes the model, then the state and the page where they are asked for, and prints the figures.
Outcome<Done> run_calibration(const CalibrationJob& job);

}  // namespace intaglio::cli
