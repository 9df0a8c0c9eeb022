// Options that several subcommands have, and what their words ask of the tools.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "tools/class_scores.h"
#include "tools/detections.h"
#include "tools/float_search.h"
#include "tools/known_params.h"
#include "tools/loaded_model.h"
#include "tools/samples.h"
#include "tools/slot_choices.h"

namespace intaglio::cli {

using namespace tools;

void add_threads_option(CLI::App& app, ExecutionOptions& options);
void add_isa_option(CLI::App& app, ExecutionOptions& options);
void add_streamed_option(CLI::App& app, ExecutionOptions& options);
void add_compact_option(CLI::App& app, ExecutionOptions& options);

// --memory, as memory_goal() reads it.
void add_memory_option(CLI::App& app, std::string& word);
// --ceiling
void add_ceiling_option(CLI::App& app, int64_t& bytes);

struct SampleArguments {
  std::string images;               // of a model with one input
  std::vector<std::string> inputs;  // NAME=PATH, one an input; with one input PATH alone will do
  bool are_arguments = false;       // they stood behind no --input: messages
  std::string only;
  int64_t limit = 0;
  bool skip_bad = false;
  std::string frame;      // WxH:ORDER
  int64_t row_bytes = 0;  // of it
};
// --images, --input, --only, --limit, --skip-bad, --frame, --row-bytes
void add_sample_options(CLI::App& app, SampleArguments& arguments);
Outcome<SampleChoice> sample_choice(const SampleArguments& arguments, const LoadedModel& file);
void add_steps_option(CLI::App& app, int64_t& steps);

// --names; `what` says what they are for.
inline constexpr const char* kNamesOfLabels =
    "the names of the classes, by which labels and folders may name them";
void add_names_option(CLI::App& app, std::string& path, const std::string& what);

// --score, --decoder
void add_detection_options(CLI::App& app, DetectionChoice& choice);

struct QuantizationArguments {
  std::string method = "auto", compat = "none", keep_float;
  double percentile = 0.9999;
  bool symmetric = false, power_of_two = false, safe_pairs = false, int8_answers = false;
  int32_t weight_bits = 8;
  std::vector<std::string> set;  // SLOT:KEY=VALUE,...
};
// --method and --percentile, which choose ranges by samples
void add_range_options(CLI::App& app, QuantizationArguments& arguments);
// The others, which hold for parameters that are known, too.
void add_quantization_options(CLI::App& app, QuantizationArguments& arguments);
Outcome<QuantizationChoice> quantization_choice(const QuantizationArguments& arguments);

// --min-sqnr, --max-drop, --labels, --names, --no-fpu
void add_float_search_options(CLI::App& app, FloatSearchChoice& choice);

// `of`: which file it is about, for the help. `written`: it is one to write; models are only read.
void add_params_format_option(CLI::App& app, const std::string& name, const std::string& of,
                              std::string& format, bool written = false);
void add_params_map_option(CLI::App& app, const std::string& name, std::string& map);

}  // namespace intaglio::cli
