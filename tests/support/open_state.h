// A calibration's state with its lists at hand: for tests that change what it holds, or how it is written.
#pragma once

#include <stdexcept>
#include <vector>

#include "calibrator/state/calibration_state.h"
#include "runtime/crc32.h"

namespace intaglio::test {

class OpenState {
 public:
  explicit OpenState(const std::vector<uint8_t>& bytes) {
    const Span<const uint8_t> span{bytes.data(), bytes.size()};
    const Result<StateFacts> facts = facts_of_state(span);
    if (!facts) throw std::runtime_error("no state");
    const auto bins = static_cast<int32_t>(facts->bins), halves = static_cast<int32_t>(facts->halves);
    memory_.resize(observer_list_bytes(facts->observers, bins, halves) + observer_list_bytes(1, bins) + 64);
    lists.halves = facts->halves;
    means_.resize(facts->means);
    inputs_.resize(facts->inputs);
    Arena arena({memory_.data(), memory_.size()});
    lists.observers = make_observers(arena, facts->observers, bins, halves);
    const Span<TensorObserver> spare = make_observers(arena, 1, bins);
    lists.mean_sums = {means_.data(), means_.size()};
    lists.inputs = {inputs_.data(), inputs_.size()};
    lists.graph = facts->graph;
    reset_state(lists);
    if (!merge_state(lists, span, spare[0]).ok()) throw std::runtime_error("no state");
  }

  std::vector<uint8_t> save() const {
    std::vector<uint8_t> bytes(state_bytes(lists, kMaxSamples + 1));
    save_state(lists, kMaxSamples + 1, {bytes.data(), bytes.size()});
    return bytes;
  }

  // As version 8 wrote it: values at places that are known. Of both halves.
  std::vector<uint8_t> save_as_values() const {
    std::vector<uint8_t> bytes;
    const auto put = [&bytes](const auto* values, size_t count) {
      const auto* const first = reinterpret_cast<const uint8_t*>(values);
      bytes.insert(bytes.end(), first, first + count * sizeof *values);
    };
    const uint32_t header[] = {8, lists.sample_count, static_cast<uint32_t>(lists.observers.size),
                               static_cast<uint32_t>(lists.mean_sums.size),
                               static_cast<uint32_t>(bins_of(lists.observers))};
    put("ITGS", 4);
    put(header, 5);
    put(&lists.graph, 1);
    put(&lists.samples, 1);
    for (const TensorObserver& o : lists.observers) {
      put(o.samples, 2);
      put(o.min, 2);
      put(o.max, 2);
      for (const PeakSums& peaks : o.peaks) {
        put(&peaks.sum, 1);
        put(&peaks.squares, 1);
        put(&peaks.count, 1);
      }
      put(&o.probe_min, 1);
      put(&o.probe_max, 1);
      if (o.counts == nullptr) continue;
      for (const Histogram& half : o.counts->halves) put(half.counts, static_cast<size_t>(o.bins()));
      put(&o.counts->levels, 1);
      for (const Histogram& half : o.counts->halves) put(&half.levels[0][0], kPowerLevels * kBlocks);
    }
    put(lists.mean_sums.data, lists.mean_sums.size);
    put(lists.inputs.data, lists.inputs.size);
    const uint32_t crc = crc32(0, bytes.data(), bytes.size());
    put(&crc, 1);
    return bytes;
  }

  CalibrationState lists;

 private:
  std::vector<uint8_t> memory_;
  std::vector<int64_t> means_;
  std::vector<InputValues> inputs_;
};

// Bytes with the checksum that they ought to have.
inline std::vector<uint8_t> with_right_crc(std::vector<uint8_t> bytes) {
  const uint32_t crc = crc32(0, bytes.data(), bytes.size() - sizeof crc);
  memcpy(bytes.data() + bytes.size() - sizeof crc, &crc, sizeof crc);
  return bytes;
}

}  // namespace intaglio::test
