#include "tools/sequences.h"

#include <algorithm>

#include "calibrator/host/system/wording.h"
#include "calibrator/judge/evaluate.h"
#include "intaglio/step_model.h"
#include "tools/class_scores.h"
#include "tools/layer_comparison.h"

namespace intaglio::tools {
namespace {

struct OutputSums {
  double signal = 0, noise = 0;

  void add(const std::vector<float>& exact, const std::vector<float>& found) {
    for (size_t i = 0; i < exact.size(); ++i) {
      const double x = static_cast<double>(exact[i]), error = static_cast<double>(found[i]) - x;
      signal += x * x;
      noise += error * error;
    }
  }
};

// The mean of the outputs' noise over signal.
double sqnr_of(const std::vector<OutputSums>& outputs) {
  double ratio = 0;
  for (const OutputSums& output : outputs)
    ratio += output.signal > 0 ? output.noise / output.signal : output.noise > 0 ? 1.0 : 0.0;
  return sqnr_db(1.0, ratio / static_cast<double>(outputs.size()));
}

}  // namespace

Outcome<Sequences> Sequences::of(int64_t steps, const SampleChoice& choice, const Samples& samples,
                                 const LoadedModel& file, const Work& work) {
  const size_t count = samples.count();
  Sequences sequences;
  if (file.model().state_count() == 0) {
    if (steps > 0) work.note(option_word("steps") + " has no effect: " + file.path() + " has no state");
    sequences.count_ = count;
    return sequences;
  }
  const char* const leaves_out = !choice.only.empty() ? "only" : choice.limit > 0 ? "limit" : nullptr;
  if (leaves_out != nullptr || choice.skip_bad)
    return Failure{option_word(leaves_out != nullptr ? leaves_out : "skip-bad") + ": " + file.path() +
                   " has states, so its samples are the steps of sequences, and none can be left out"};
  sequences.steps_ = steps == 0 ? count : static_cast<size_t>(steps);
  if (count % sequences.steps_ != 0)
    return Failure{std::to_string(count) + " samples are no sequences of " + std::to_string(steps) +
                   " steps; " + option_word("steps") + " takes a divisor of their number"};
  sequences.count_ = count / sequences.steps_;
  return sequences;
}

Outcome<SequenceFigures> compare_sequences(const LoadedModel& fp32, const Model& test, const Samples& samples,
                                           const Sequences& sequences, const SessionOptions& options,
                                           Work& work) {
  auto exact = LoadedSession::create(fp32, options);
  if (!exact) return exact.failure();
  auto found = LoadedSession::create(test, options);
  if (!found) return Failure{error_text(found.error(), &test)};
  const size_t outputs = test.outputs().size;
  if (fp32.model().outputs().size != outputs || fp32.model().inputs().size != test.inputs().size)
    return Failure{fp32.path() + ": has other inputs or outputs than the model that it is compared with"};
  std::vector<OutputSums> all(outputs), late(outputs);
  for (size_t i = 0; i < samples.count(); ++i) {
    work.show("running sequences", i, samples.count());
    if (sequences.begins(i)) {
      (**exact).reset();
      (**found).reset();
    }
    if (auto step = samples.load(i, **exact); !step) return step.failure();
    copy_inputs(**exact, **found);
    (**exact).run();
    (**found).run();
    for (size_t k = 0; k < outputs; ++k) {
      const auto x = real_values((**exact).output(static_cast<int32_t>(k))),
                 y = real_values((**found).output(static_cast<int32_t>(k)));
      if (x.size() != y.size())
        return Failure{fp32.path() + ": output " + std::to_string(k) +
                       " has another size in the model that it is compared with"};
      all[k].add(x, y);
      if (sequences.is_late(i)) late[k].add(x, y);
    }
  }
  work.clear();
  return SequenceFigures{sequences.count(), sequences.steps(), sqnr_of(all), sqnr_of(late)};
}

Outcome<Done> record_states(const LoadedModel& file, const SessionOptions& options,
                            const Sequences& sequences, Samples& samples) {
  auto session = LoadedSession::create(file, options);
  if (!session) return session.failure();
  const Model& model = file.model();
  std::vector<uint8_t> first, held;
  for (int32_t k = 0; k < model.state_count(); ++k) {
    const StateInfo state = model.state(k);
    const size_t begin = first.size();
    first.resize(begin + model.tensor(state.input).bytes());
    std::copy(state.initial.begin(), state.initial.end(), first.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  std::vector<std::vector<uint8_t>> states;
  for (size_t i = 0; i < samples.count(); ++i) {
    if (sequences.begins(i)) {
      (**session).reset();
      held = first;
    }
    if (auto step = samples.load(i, **session); !step) return step;
    (**session).run();
    states.push_back(held);
    held.clear();
    for (int32_t k = 0; k < model.state_count(); ++k) {
      const TensorView next = (**session).tensor(model.state(k).output);
      const auto* const bytes = static_cast<const uint8_t*>(next.data);
      held.insert(held.end(), bytes, bytes + next.info.bytes());
    }
  }
  samples.follow_by(std::move(states));
  return Done{};
}

Outcome<CalibratedSteps> CalibratedSteps::of(const LoadedModel& given) {
  CalibratedSteps steps;
  steps.given_ = &given;
  if (given.model().state_count() == 0) return steps;
  auto step = LoadedModel::step_of(given);
  if (!step) return step.failure();
  steps.step_ = std::move(*step);
  return steps;
}

Outcome<Done> CalibratedSteps::read_sequences(int64_t steps, const SampleChoice& choice,
                                              const SessionOptions& options, Samples& samples,
                                              const Work& work) {
  const auto sequences = Sequences::of(steps, choice, samples, *given_, work);
  if (!sequences) return sequences.failure();
  sequences_ = *sequences;
  if (!has_states()) return Done{};
  return record_states(*given_, options, sequences_, samples);
}

void CalibratedSteps::set(bool int8, QuantizationLists& lists, CalibratorOptions& options,
                          const Work& work) const {
  if (!has_states()) return;
  const Model& model = given_->model();
  options.states_of = &model;
  if (int8) return;
  std::vector<int32_t> room(static_cast<size_t>(model.node_count()));
  const Span<const int32_t> nodes = find_state_nodes(model, {room.data(), room.size()});
  for (const int32_t node : nodes)
    if (std::find(lists.float_nodes.begin(), lists.float_nodes.end(), node) == lists.float_nodes.end())
      lists.float_nodes.push_back(node);
  options.float_nodes = {lists.float_nodes.data(), lists.float_nodes.size()};
  for (int32_t i = 0; i < model.state_count(); ++i) {
    const StateInfo state = model.state(i);
    for (const int32_t node : nodes)
      for (const int32_t output : model.node_outputs(node))
        if (output == state.output)
          work.note(
              "state '" + std::string(model.tensor(state.input).name) +
              "' stays in FP32: arithmetic carries it from step to step, and its rounding would add up");
  }
}

}  // namespace intaglio::tools
