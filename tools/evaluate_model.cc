#include "tools/evaluate_model.h"

#include "calibrator/host/system/wording.h"
#include "tools/sample_checks.h"

namespace intaglio::tools {
namespace {

constexpr int32_t kTopClasses = 5;

Outcome<Evaluation> evaluate_stoppable(const LoadedModel& file, const EvaluateChoice& choice, Work& work) {
  auto session = LoadedSession::create(file, choice.execution, choice.ops);
  if (!session) return session.failure();
  const auto samples = Samples::open(choice.samples, file, work);
  if (!samples) return samples.failure();
  if (!may_give_classes(file.model(), *samples))
    return no_classes(file, *samples, ", which eval needs; see " + tool_word("compare"));
  const ClassOutput classes = *possible_class_output(file.model());
  const auto sequences = Sequences::of(choice.steps, choice.samples, *samples, file, work);
  if (!sequences) return sequences.failure();
  const bool has_states = file.model().state_count() > 0;
  std::vector<std::string> names;  // of each sequence's last step
  for (size_t i = 0; i < samples->count(); ++i)
    if (sequences->ends(i))
      names.push_back(has_states && samples->is_array() ? std::to_string(sequences->number(i))
                                                        : samples->name(i));
  const auto wanted = right_classes(choice.labels, names, file.model(), choice.samples, work);
  if (!wanted) return wanted.failure();
  Evaluation found;
  found.count = sequences->count();
  warn_of_units(*samples, file.model(), work);
  for (size_t i = 0; i < samples->count(); ++i) {
    work.show("evaluating", i, samples->count());
    if (sequences->begins(i)) (**session).reset();
    if (auto loaded = samples->load(i, **session); !loaded) return loaded.failure();
    (**session).run();
    if (!sequences->ends(i)) continue;
    const std::vector<float> scores = class_scores(**session, classes);
    if (!best_class(scores))
      return Failure{file.path() + ": gives a score that is no number for " + samples->name(i)};
    const int32_t rank = rank_of(scores, (*wanted)[sequences->number(i)]);
    found.right += rank == 0 ? 1 : 0;
    found.within += rank < kTopClasses ? 1 : 0;
  }
  work.clear();
  return found;
}

}  // namespace

Outcome<Evaluation> evaluate(const LoadedModel& file, const EvaluateChoice& choice, Work& work) {
  return stoppable([&] { return evaluate_stoppable(file, choice, work); });
}

Json json_of(const Evaluation& found) {
  return {{"count", found.count}, {"top1", found.top1()}, {"top5", found.top5()}};
}

}  // namespace intaglio::tools
