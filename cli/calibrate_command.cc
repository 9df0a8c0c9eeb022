// intaglio calibrate: an FP32 model and a few samples to an int8 model.
#include "cli/advised_command.h"
#include "cli/calibration_text.h"
#include "cli/command.h"
#include "cli/import_options.h"
#include "tools/calibrate_model.h"
#include "tools/calibration_page.h"
#include "tools/observed_samples.h"

namespace intaglio::cli {
namespace {

constexpr const char* kCalibrateFooter =
    "The int8 model depends on the FP32 model, the set of samples and the options. It does not depend on the order\n"
    "of the samples, the machine or the number of threads. It is opened and run before it is written.\n\n"
    "A setting that int8 cannot hold is refused; 'intaglio simulate' shows its effect.\n"
    "SQNR is in dB, and larger is better. 'alone' is a layer's error with exact inputs.\n\n"
    "A network's file is imported first, as 'intaglio import' does, to the same bytes. 'intaglio import --help' explains\n"
    "these options. Other commands take the model that import writes.\n\n"
    "Examples:\n"
    "  intaglio calibrate net.itg --images calibration/ -o net.int8.itg\n"
    "  intaglio calibrate net.onnx --pixels imagenet --images calibration/ -o net.int8.itg";

Outcome<Done> check_report(const CalibrateArguments& arguments) {
  const std::string& report = arguments.report;
  if (report.empty()) return Done{};
  if (is_same_place(report, arguments.output))
    return Failure{report + ": is the model to write; name another file, with --report"};
  for (const std::string& input : arguments.read_files())
    if (auto step = check_output_path(report, input, "--report"); !step) return step;
  return check_page_output(report, arguments.model, "--report");
}

Outcome<Done> run_calibrate(const CalibrateArguments& arguments) {
  CalibrateChoice choice;  // its clock starts
  const OutputFile output(arguments.output), report(arguments.report);
  Work work(listener());
  const auto given = open_or_import(arguments.model, arguments.network, work);
  if (!given) return given.failure();
  for (const std::string& input : arguments.read_files())
    if (auto step = check_model_output(arguments.output, input); !step) return step.failure();
  if (auto step = check_report(arguments); !step) return step.failure();
  const auto goal = memory_goal(arguments.memory);
  if (!goal) return goal.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  if (auto step = check_float(*given); !step) return step.failure();
  const auto quantization = quantization_choice(arguments.quantization);
  if (!quantization) return quantization.failure();
  const auto recover = parse_recover(arguments.recover);
  if (!recover) return recover.failure();
  if (!arguments.without_samples()) {
    const auto samples = sample_choice(arguments.samples, *given);
    if (!samples) return samples.failure();
    choice.samples = *samples;
  }
  choice.steps = arguments.steps;
  choice.execution = *execution;
  choice.quantization = *quantization;
  choice.recover = *recover;
  choice.int8_states = arguments.int8_states;
  choice.float_search = arguments.float_search;
  choice.params = arguments.params;
  FileBytes observed;
  if (!arguments.from.empty()) {
    StateSum sum;
    for (const std::string& path : arguments.from)
      if (auto step = sum.add_file(path); !step) return step.failure();
    observed = sum.save();
    choice.observed = observed.span();
    choice.from = arguments.from.size() == 1 ? arguments.from[0] : "the states";
  }
  choice.memory = *goal;
  choice.page = !arguments.report.empty();
  choice.layers = !arguments.json || choice.page;
  choice.name = arguments.output;
  choice.write = [&output](Span<const uint8_t> bytes) { return output.write(bytes); };
  choice.advised_command = [&](const Verdict& verdict) {
    return advised_command(arguments, given->is_imported(), verdict);
  };
  choice.command_keeping = [&](const std::string& nodes) { return command_keeping(arguments, nodes); };

  const auto made = calibrate(*given, choice, work);
  if (!made) return made.failure();
  if (choice.page) {
    const Span<const uint8_t> page{reinterpret_cast<const uint8_t*>(made->page.data()), made->page.size()};
    if (auto step = report.write(page); !step)
      return Failure{step.message() + "; " + arguments.output + " is complete"};
  }
  if (arguments.json) {
    print_json(json_of(*made, choice));
  } else if (made->baked) {
    print_baked(*made->baked, made->bytes.size(), arguments.params.file, arguments.output);
  } else {
    const auto int8 = Model::open(made->bytes.span());
    if (!int8) return failure_in(arguments.output, int8.error());
    print_calibration(*made, arguments.output, arguments.float_search, given->model(), *int8);
  }
  return Done{};
}

}  // namespace

Command add_calibrate_command(CLI::App& parent) {
  const auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* app = add_subcommand(parent, "calibrate",
                                 "make an int8 model from an FP32 model and a few samples", kCalibrateFooter);
  add_model_or_network(*app, arguments->model);
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
  add_option(
      *app, "--from", arguments->from,
      "go on from what 'intaglio observe' has seen of other samples. Without samples that is all there is")
      .type_name("S.itgcal")
      .repeated();
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
