// The command that does what a calibration's verdict advises, to be pasted into a shell.
#pragma once

#include <string>
#include <vector>

#include "cli/import_options.h"
#include "cli/tool_options.h"
#include "tools/verdict.h"

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
  FloatSearchChoice float_search;
  ParamsChoice params;
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

// Paths are quoted. A network's file is imported first where the command needs a model. Empty where no command does it, where
// the words were another program's, or where one of them cannot be pasted safely.
std::string advised_command(const CalibrateArguments& arguments, bool is_imported, const Verdict& verdict);

// The calibration that was given, with these nodes in FP32 as well ("@3,@7"). Without --state: by now that file holds the
// samples, and they would be added once more. Empty as above.
std::string command_keeping(const CalibrateArguments& arguments, const std::string& nodes);

}  // namespace intaglio::cli
