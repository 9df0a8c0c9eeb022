// What a command line says of samples: where those of each input are, and which of them are taken.
#pragma once

#include <string>
#include <vector>

#include "cli/loaded_model.h"
#include "cli/options.h"

namespace intaglio::cli {

struct SampleArguments {
  std::string images;               // of a model with one input
  std::vector<std::string> inputs;  // NAME=PATH, one an input; with one input PATH alone will do
  bool are_arguments = false;       // they stood behind no --input: messages
  std::string only;
  int64_t limit = 0;
  bool skip_bad = false;
};
// --images, --input, --only, --limit, --skip-bad
void add_sample_options(CLI::App& app, SampleArguments& arguments);

// The name of the model's input `i`.
std::string input_name(const Model& model, size_t i);
// Where the samples of each input are, in the order of the inputs.
Outcome<std::vector<std::string>> sample_paths(const SampleArguments& arguments, const LoadedModel& file);

}  // namespace intaglio::cli
