#include "cli/state_recording.h"

#include <algorithm>

namespace intaglio::cli {

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

}  // namespace intaglio::cli
