// A subcommand, and its options. CLI11 reads them; what it takes to compile them, ten seconds a file, stays in
// options.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace intaglio::cli {

// An option that was added; these say more about it. What goes with what is in option_rules.h.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  // The help's word for its value.
  Option& type_name(const std::string& name);
  // The help shows what the variable holds now.
  Option& show_default();
  Option& range(int32_t low, int32_t high);
  Option& range(int64_t low, int64_t high);
  Option& range(double low, double high);
  Option& one_of(const std::vector<std::string>& words);
  // A value that the words alone show to be wrong is refused with exit code 2, before anything is read.
  Option& checked(std::function<Outcome<Done>(const std::string&)> check);
  // One value each time, and any number of times.
  Option& repeated();
  // The help's heading for it, "Options..."; by default "Options".
  Option& group(const std::string& heading);

 private:
  CLI::Option* option_;
};

// A check made of a function that reads a value: whether it can.
template <typename Read>
auto readable_by(Read read) {
  return [read](const std::string& value) -> Outcome<Done> {
    const auto made = read(value);
    if (!made) return made.failure();
    return Done{};
  };
}

CLI::App* add_subcommand(CLI::App& parent, const std::string& name, const std::string& what,
                         const std::string& footer);

// A subcommand with subcommands of its own, of which one must be given; which it was.
void require_subcommand(CLI::App& app);
bool was_given(const CLI::App& subcommand);

// The variable outlives the parsing and keeps its value where the option is not given.
Option add_option(CLI::App& app, const std::string& names, std::string& value, const std::string& what);
Option add_option(CLI::App& app, const std::string& names, int32_t& value, const std::string& what);
Option add_option(CLI::App& app, const std::string& names, int64_t& value, const std::string& what);
Option add_option(CLI::App& app, const std::string& names, double& value, const std::string& what);
Option add_option(CLI::App& app, const std::string& names, std::optional<double>& value,
                  const std::string& what);
Option add_option(CLI::App& app, const std::string& names, std::vector<std::string>& value,
                  const std::string& what);
Option add_flag(CLI::App& app, const std::string& names, bool& value, const std::string& what);

// The options and arguments that were given, as words of a new command line.
struct GivenWords {
  std::vector<std::string> all;
  std::vector<std::string> below;  // those of the options below one heading of the help
};
// Filled once they are read.
void keep_given_words(CLI::App& app, GivenWords& words, const std::string& heading);

// How a subcommand comes into the command: its options are added to CLI11, its action runs once they are
// read.
struct Command {
  CLI::App* app = nullptr;
  std::function<Outcome<Done>()> action;
};

// An action that reads options which outlive the parsing.
template <typename Options>
Command make_command(CLI::App* app, std::shared_ptr<Options> options, Outcome<Done> (*run)(const Options&)) {
  return {app, [options = std::move(options), run] { return run(*options); }};
}

Command add_import_command(CLI::App& parent);
Command add_calibrate_command(CLI::App& parent);
Command add_observe_command(CLI::App& parent);
Command add_merge_command(CLI::App& parent);
Command add_simulate_command(CLI::App& parent);
Command add_run_command(CLI::App& parent);
Command add_eval_command(CLI::App& parent);
Command add_compare_command(CLI::App& parent);
Command add_inspect_command(CLI::App& parent);
Command add_export_c_command(CLI::App& parent);
Command add_export_onnx_command(CLI::App& parent);
Command add_export_tflite_command(CLI::App& parent);
Command add_pack_command(CLI::App& parent);
Command add_plan_command(CLI::App& parent);
Command add_params_command(CLI::App& parent);
Command add_verify_command(CLI::App& parent);
Command add_bench_command(CLI::App& parent);

}  // namespace intaglio::cli
