// A state in memory of its own, on a host.
#pragma once

#include <vector>

#include "calibrator/state/calibration_state.h"

namespace intaglio {

struct StateRoom {
  // For states with these lists; it has seen nothing.
  explicit StateRoom(const StateFacts& facts)
      : memory(observer_list_bytes(facts.observers, static_cast<int32_t>(facts.bins),
                                   static_cast<int32_t>(facts.halves)) +
               observer_list_bytes(1, static_cast<int32_t>(facts.bins))),
        means(facts.means),
        inputs(facts.inputs) {
    Arena arena({memory.data(), memory.size()});
    const auto bins = static_cast<int32_t>(facts.bins), halves = static_cast<int32_t>(facts.halves);
    state.observers = make_observers(arena, facts.observers, bins, halves);
    spare = make_observers(arena, 1, bins);
    state.mean_sums = {means.data(), means.size()};
    state.inputs = {inputs.data(), inputs.size()};
    state.graph = facts.graph;
    state.halves = facts.halves;
    reset_state(state);
  }
  StateRoom(StateRoom&&) = default;  // lists stay where they are
  StateRoom& operator=(StateRoom&&) = default;

  Error merge(Span<const uint8_t> bytes, Span<float> extents = {}) {
    return merge_state(state, bytes, spare[0], extents);
  }

  std::vector<uint8_t> memory;  // of the observers
  std::vector<int64_t> means;
  std::vector<InputValues> inputs;
  CalibrationState state;
  Span<TensorObserver> spare;  // one
};

}  // namespace intaglio
