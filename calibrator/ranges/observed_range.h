// From what has been seen of a tensor, and what the graph says of it, to its range.
#pragma once

#include "calibrator/ranges/slot_facts.h"
#include "calibrator/ranges/slot_params.h"

namespace intaglio {

// Looks at tensors on one lane. With a `half`, 0 or 1, from the samples with an even or an odd digest alone. `behind` and the
// lane's spare observer are overwritten.
class RangeFinder {
 public:
  RangeFinder(const ParamSource& source, const SlotFacts& facts, int32_t half, FunctionBehind* behind,
              TensorObserver& spare)
      : source_(source), facts_(facts), half_(half), behind_(behind), spare_(spare) {}

  // False where samples are needed and none was seen.
  bool find(int32_t tensor, const QuantConfig& config, Range& range) const;

 private:
  struct Seen;

  bool is_auto(const QuantConfig& config) const {
    return source_.options.method == RangeMethod::kAuto && !config.own_observer;
  }
  const TensorObserver& observer(int32_t tensor) const;
  bool find_of_input(int32_t tensor, const QuantConfig& config, Range& range) const;
  Seen seen_of(int32_t tensor, const QuantConfig& config) const;
  Range of_seen(int32_t tensor, const QuantConfig& config) const;
  Range by_method(const Seen& seen, const QuantConfig& config) const;

  const ParamSource& source_;
  const SlotFacts& facts_;
  int32_t half_;
  FunctionBehind* behind_;
  TensorObserver& spare_;
};

}  // namespace intaglio
