// How a subcommand comes into the command: its options are added to CLI11, its action runs once they are
// read.
#pragma once

#include <functional>
#include <memory>

#include "calibrator/host/system/outcome.h"
#include "cli/options.h"

namespace intaglio::cli {

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
