// intaglio observe: what a calibration sees of samples, as a file for `merge` and `calibrate --from`.
#include "cli/command.h"
#include "cli/import_options.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "tools/observed_samples.h"

namespace intaglio::cli {
namespace {

struct ObserveArguments {
  std::string model, output, question;
  ImportChoices network;
  SampleArguments samples;
  int64_t steps = 0;
  bool int8_states = false;
  QuantizationArguments quantization;
  ExecutionOptions execution;
  bool json = false;
};

constexpr const char* kObserveFooter =
    "The samples stay where they are: the file holds ranges, histograms and sums of each layer's values. 'intaglio merge'\n"
    "adds such files up, in any order, and 'intaglio calibrate --from' makes the model. Give the same model file and the\n"
    "same options for quantization there; --method kl keeps four times as many bins.\n\n"
    "Example:\n"
    "  intaglio observe net.itg --images here/ -o here.itgcal\n"
    "  intaglio observe net.itg --images there/ -o there.itgcal       # on another machine\n"
    "  intaglio calibrate net.itg --from here.itgcal --from there.itgcal -o net.int8.itg";

Outcome<Done> run_observe(const ObserveArguments& arguments) {
  const OutputFile output(arguments.output);
  Work work(listener());
  const auto given = open_or_import(arguments.model, arguments.network, work);
  if (!given) return given.failure();
  if (auto step = check_output_path(arguments.output, arguments.model); !step) return step;
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  const auto quantization = quantization_choice(arguments.quantization);
  if (!quantization) return quantization.failure();
  const auto samples = sample_choice(arguments.samples, *given);
  if (!samples) return samples.failure();
  ObserveChoice choice{
      *samples, arguments.steps, *execution, *quantization, arguments.int8_states, arguments.question, {}};
  FileBytes question;
  if (!arguments.question.empty()) {
    if (auto step = check_output_path(arguments.output, arguments.question); !step) return step;
    auto read = read_file(arguments.question, kMaxStateBytes);
    if (!read) return read.failure();
    question = std::move(*read);
    choice.question = question.span();
  }
  const auto observed = observe(*given, choice, work);
  if (!observed) return observed.failure();
  if (auto step = output.write(observed->state.span()); !step) return step;
  if (arguments.json)
    print_json({{"samples", observed->samples}, {"bytes", observed->state.size()}});
  else
    print("%s: %zu samples in %s s, %s bytes\n", safe(arguments.output).c_str(), observed->samples,
          decimal(observed->seconds, 2).c_str(), grouped(observed->state.size()).c_str());
  return Done{};
}

}  // namespace

Command add_observe_command(CLI::App& parent) {
  const auto arguments = std::make_shared<ObserveArguments>();
  CLI::App* app = add_subcommand(parent, "observe",
                                 "write what a calibration sees of samples, to be calibrated from elsewhere",
                                 kObserveFooter);
  add_model_or_network(*app, arguments->model);
  add_sample_options(*app, arguments->samples);
  add_steps_option(*app, arguments->steps);
  add_flag(*app, "--int8-states", arguments->int8_states, "as for calibrate");
  add_option(*app, "-o,--output", arguments->output, "the file to write").required().type_name("S.itgcal");
  add_option(
      *app, "--question", arguments->question,
      "answer what 'intaglio calibrate --question' asks, of the same samples and with that calibration's options")
      .type_name("NEXT.itgq");
  add_range_options(*app, arguments->quantization);
  add_quantization_options(*app, arguments->quantization);
  add_threads_option(*app, arguments->execution);
  add_flag(*app, "--json", arguments->json, "print one JSON object: {samples, bytes}");
  add_import_options(*app, arguments->network, ImportHelp::kBeside);
  return make_command(app, arguments, run_observe);
}

}  // namespace intaglio::cli
