// intaglio calibrate: an FP32 model and a few samples to an int8 model.
#include "cli/calibration_page.h"
#include "cli/calibration_run.h"
#include "cli/command.h"
#include "cli/imported_network.h"
#include "cli/quantization_options.h"

namespace intaglio::cli {
namespace {

constexpr const char* kCalibrateFooter =
    "The int8 model depends on the FP32 model, the set of samples and the options. It does not depend on the order\n"
    "of the samples, the machine or the number of threads. It is opened and run before it is written.\n\n"
    "A setting that int8 cannot hold is refused; 'intaglio simulate' shows its effect.\n"
    "SQNR is in dB, and larger is better. 'alone' is a layer's error with exact inputs.\n\n"
    "A network's file is imported first, as 'intaglio import' does, to the same bytes. 'intaglio import --help' explains\n"
    "these options; with --state IN=OUT import the network by itself. Other commands take the model that import writes.\n\n"
    "Examples:\n"
    "  intaglio calibrate net.itg --images calibration/ -o net.int8.itg\n"
    "  intaglio calibrate net.onnx --pixels imagenet --images calibration/ -o net.int8.itg";

// What is written besides the model.
Outcome<Done> check_other_paths(const CalibrateArguments& arguments) {
  for (const auto& [path, option] :
       {std::pair{arguments.report, "--report"}, std::pair{arguments.state, "--state"}}) {
    if (path.empty()) continue;
    if (is_same_place(path, arguments.output))
      return Failure{path + ": is the model to write; name another file, with " + option};
    for (const std::string& input : arguments.model_files())
      if (auto step = check_output_path(path, input, option); !step) return step;
  }
  if (!arguments.report.empty())
    if (auto step = check_page_output(arguments.report, arguments.model, "--report"); !step) return step;
  if (!arguments.report.empty() && !arguments.state.empty() &&
      is_same_place(arguments.report, arguments.state))
    return Failure{arguments.state + ": is the report to write; name another file, with --state"};
  return Done{};
}

Outcome<Done> bake_known(const CalibrateArguments& arguments, const OutputFile& output,
                         const LoadedModel& file, const CalibratedSteps& steps, const KnownParamsFile& known,
                         const MemoryGoal& goal) {
  QuantizationLists lists;
  CalibratorOptions options;
  if (auto step = read_quantization(arguments.quantization, file, lists, options); !step)
    return step.failure();
  steps.set(arguments.int8_states, lists, options);
  return known.bake(file, options, output, arguments.json, goal);
}

Outcome<Done> run_calibrate(const CalibrateArguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const CalibrationOutputs outputs(arguments);
  std::vector<std::string> notes;
  const auto given = open_or_import(arguments.model, arguments.network, notes);
  if (!given) return given.failure();
  for (const std::string& note : notes) print_note(note);
  for (const std::string& input : arguments.model_files())
    if (auto step = check_model_output(arguments.output, input); !step) return step.failure();
  if (auto step = check_other_paths(arguments); !step) return step.failure();
  const auto goal = memory_goal(arguments.memory);
  if (!goal) return goal.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  auto steps = CalibratedSteps::of(*given);
  if (!steps) return steps.failure();
  const LoadedModel& file = steps->model();
  if (auto step = check_float(file); !step) return step.failure();
  if (arguments.int8_states && !steps->has_states())
    print_note("--int8-states: " + file.path() + " has no states");
  if (arguments.float_search.asked() && steps->has_states())
    return Failure{"--min-sqnr and --max-drop: " + file.path() +
                   " has states; layers are judged on samples that do not hang on each other"};
  KnownParamsFile known;
  if (auto step = known.read(arguments.params, file); !step) return step.failure();
  if (arguments.without_samples()) return bake_known(arguments, outputs.model, file, *steps, known, *goal);
  auto samples = Samples::open(arguments.samples, *given);
  if (!samples) return samples.failure();
  if (auto step = samples->check_output(arguments.output); !step) return step.failure();
  if (auto step = steps->read_sequences(arguments.steps, arguments.samples, *execution, *samples); !step)
    return step.failure();
  ProgressLine progress;
  CalibrationSamples kept(*samples, file.model());
  progress.set_beforehand(true);
  const auto facts = check_samples(kept, execution->executor, progress);
  if (!facts) return facts.failure();
  if (arguments.float_search.asked())
    if (auto step = kept.hold_out(); !step) return step.failure();
  return run_calibration(
      {arguments, outputs, *steps, file, known, kept, *facts, *execution, *goal, progress, start});
}

}  // namespace

Command add_calibrate_command(CLI::App& parent) {
  const auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* app = add_subcommand(parent, "calibrate",
                                 "make an int8 model from an FP32 model and a few samples", kCalibrateFooter);
  add_option(*app, "model", arguments->model,
             "the FP32 model file, or a network's: .onnx, .tflite, or .xml with its .bin beside it")
      .required()
      .type_name("NET");
  add_sample_options(*app, arguments->samples);
  add_steps_option(*app, arguments->steps);
  add_flag(*app, "--int8-states", arguments->int8_states,
           "keep every state in int8, also where its rounding adds up from step to step");
  add_option(*app, "-o,--output", arguments->output, "the int8 model file to write")
      .required()
      .type_name("NET.int8.itg");
  add_range_options(*app, arguments->quantization);
  add_quantization_options(*app, arguments->quantization);
  add_option(
      *app, "--recover", arguments->recover,
      "steps that lessen the error of quantization: default (depthwise,method,bias, and cle where normalizations "
      "have factors), all, none, or a list of " +
          recovery_names())
      .checked(readable_by(parse_recover))
      .type_name("LIST")
      .show_default();
  add_option(
      *app, "--params", arguments->params.file,
      "take scales and zero points from this file: see 'intaglio params'. The samples give those that it lacks. "
      "Without samples it must have all of them")
      .type_name("FILE");
  add_params_format_option(*app, "--params-format", "the parameters", arguments->params.format);
  add_params_map_option(*app, "--map", arguments->params.map);
  add_float_search_options(*app, arguments->float_search);
  add_option(*app, "--state", arguments->state,
             "a file for what was seen of the samples: read if it exists, then written with these added")
      .type_name("S.itgcal");
  add_option(
      *app, "--report", arguments->report,
      "write an HTML page: verdict, worst layers, remedies, ranges. Where the verdict is not good, up to "
      "four more calibrations measure what layers in FP32 gain")
      .type_name("FILE.html");
  add_memory_option(*app, arguments->memory);
  add_threads_option(*app, arguments->execution);
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {verdict, remedy, command, images, seconds, sqnr_db, agreement, judged, "
      "calibration_sqnr_db, calibration_agreement, sha256, stages:[{name, seconds}]}. With --min-sqnr or "
      "--max-drop it also has mixed, of a model with states sequences");
  add_import_options(*app, arguments->network, ImportHelp::kBeside);
  keep_given_words(*app, arguments->words, kImportHeading);
  return make_command(app, arguments, run_calibrate);
}

}  // namespace intaglio::cli
