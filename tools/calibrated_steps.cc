#include "tools/calibrated_steps.h"

#include <algorithm>

#include "intaglio/step_model.h"
#include "tools/sequences.h"

namespace intaglio::tools {

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
