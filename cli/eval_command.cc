// intaglio eval: how often a model is right.
#include "cli/class_scores.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/sample_checks.h"
#include "cli/sequences.h"

namespace intaglio::cli {
namespace {

constexpr int32_t kTopClasses = 5;

struct EvalArguments {
  std::string model, labels, names;
  SampleArguments samples;
  int64_t steps = 0;
  ExecutionOptions execution;
  bool json = false;
};

constexpr const char* kEvalFooter =
    "A label file has a line 'name class' or 'name,class' for each picture, or a line 'class' for each sample of an\n"
    "array. Of a folder, the folders in it are the classes 0, 1 and so on, in the order of their names, as many as\n"
    "the model has. With --names a class's name may stand for its number, and folders are the classes of their names.\n"
    "top1 is the share of samples whose best class is the right one, top5 whose five best hold it, in percent.\n"
    "Of equal scores the class with the lowest number counts.\n"
    "Of a model with states the last step of each sequence is judged. A picture's label is that of this step; a line\n"
    "'class' is of a sequence.\n\n"
    "Example:\n"
    "  intaglio eval net.int8.itg --images test/ --labels test_labels.txt\n"
    "  intaglio eval net.int8.itg --images test/ --labels test/           # test/cat/1.png, test/dog/2.png, ...";

Outcome<Done> run_eval(const EvalArguments& arguments) {
  auto file = LoadedModel::map(arguments.model);
  if (!file) return file.failure();
  if (auto step = file->stream_if(arguments.execution.streamed); !step) return step.failure();
  const auto options = session_options(arguments.execution);
  if (!options) return options.failure();
  auto session = LoadedSession::create(*file, *options, ops_of(arguments.execution));
  if (!session) return session.failure();
  const auto samples = Samples::open(arguments.samples, *file);
  if (!samples) return samples.failure();
  if (!gives_classes(file->model(), *samples))
    return no_classes(*file, *samples, ", which eval needs; see 'intaglio compare'");
  const auto labels = read_labels(arguments.labels, arguments.names, file->model());
  if (!labels) return labels.failure();
  const auto sequences = Sequences::of(arguments.steps, arguments.samples, *samples, *file);
  if (!sequences) return sequences.failure();
  warn_of_left_over(*labels, sequences->count(), arguments.samples);
  const bool has_states = file->model().state_count() > 0;

  std::vector<int32_t> wanted;  // of each sequence: known before the first one runs
  for (size_t i = 0; i < samples->count(); ++i) {
    if (!sequences->ends(i)) continue;
    const auto label = labels->of(has_states && samples->is_array() ? std::to_string(sequences->number(i))
                                                                    : samples->name(i));
    if (!label) return label.failure();
    wanted.push_back(*label);
  }
  size_t right = 0, within = 0;
  ProgressLine progress;
  warn_of_units(*samples, file->model(), progress);
  for (size_t i = 0; i < samples->count(); ++i) {
    progress.show("evaluating", i, samples->count());
    if (sequences->begins(i)) (**session).reset();
    if (auto loaded = samples->load(i, **session); !loaded) return loaded.failure();
    (**session).run();
    if (!sequences->ends(i)) continue;
    const std::vector<float> scores = class_scores(**session);
    if (!best_class(scores))
      return Failure{arguments.model + ": gives a score that is no number for " + samples->name(i)};
    const int32_t rank = rank_of(scores, wanted[sequences->number(i)]);
    right += rank == 0 ? 1 : 0;
    within += rank < kTopClasses ? 1 : 0;
  }
  progress.clear();
  const size_t judged = sequences->count();
  const auto count = static_cast<double>(judged);
  const double top1 = 100 * static_cast<double>(right) / count;
  const double top5 = 100 * static_cast<double>(within) / count;
  if (arguments.json) {
    print_json({{"count", judged}, {"top1", top1}, {"top5", top5}});
  } else {
    print("top1  %6s %%   %zu of %zu\n", decimal(top1, 2).c_str(), right, judged);
    print("top5  %6s %%   %zu of %zu\n", decimal(top5, 2).c_str(), within, judged);
  }
  return Done{};
}

}  // namespace

Command add_eval_command(CLI::App& parent) {
  const auto arguments = std::make_shared<EvalArguments>();
  CLI::App* app =
      add_subcommand(parent, "eval", "count how often a model's best class is the right one", kEvalFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_sample_options(*app, arguments->samples);
  add_steps_option(*app, arguments->steps);
  add_option(*app, "--labels", arguments->labels, "the right classes of the samples")
      .required()
      .type_name("LABELS.txt|DIR");
  add_names_option(*app, arguments->names, kNamesOfLabels);
  add_threads_option(*app, arguments->execution);
  add_isa_option(*app, arguments->execution);
  add_compact_option(*app, arguments->execution);
  add_streamed_option(*app, arguments->execution);
  add_flag(*app, "--json", arguments->json, "print one JSON object: {count, top1, top5}");
  return make_command(app, arguments, run_eval);
}

}  // namespace intaglio::cli
