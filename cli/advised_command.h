// The command that does what a calibration's verdict advises, to be pasted into a shell.
#pragma once

#include <string>
#include <vector>

#include "cli/import_options.h"
#include "cli/tool_options.h"
#include "tools/verdict.h"

namespace intaglio::cli {

struct CalibrateArguments {
  std::string model, output, report, memory = "flat";
  std::vector<std::string> from;  // states
  ImportChoices network;          // where the model is a network's file
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

  // Which a model or a report must not replace.
  std::vector<std::string> read_files() const {
    std::vector<std::string> files = from;
    files.push_back(model);
    if (!params.file.empty()) files.push_back(params.file);
    return files;
  }
  // Everything is to come from a file of parameters, or from states.
  bool without_samples() const {
    return (!params.file.empty() || !from.empty()) && samples.images.empty() && samples.inputs.empty();
  }
};

// Paths are quoted. A network's file is imported first where the command needs a model. Empty where no command does it, where
// the words were another program's, or where one of them cannot be pasted safely.
std::string advised_command(const CalibrateArguments& arguments, bool is_imported, const Verdict& verdict);

// The calibration that was given, with these nodes in FP32 as well ("@3,@7"). Empty as above, and with --from: other tensors
// are observed then.
std::string command_keeping(const CalibrateArguments& arguments, const std::string& nodes);

}  // namespace intaglio::cli
