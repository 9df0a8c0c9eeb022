// From what has been seen of a tensor, and what the graph says of it, to its range.
#pragma once

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/scales.h"
#include "calibrator/ranges/slot_facts.h"
#include "calibrator/ranges/slot_params.h"
#include "intaglio/model.h"

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
  Range with_scores(const Range& range, int32_t tensor, const Seen& known) const;

  const ParamSource& source_;
  const SlotFacts& facts_;
  int32_t half_;
  FunctionBehind* behind_;
  TensorObserver& spare_;
};

// RangeMethod::kAuto: the range of least squared error, with room for what few samples do not show. Its constants are in
// auto_rules.h.
struct Bounds;

// How many times as far as what n samples show others are expected to reach: 2^(1 / sqrt(n + 1)).
double room_of(const TensorObserver& observer);
double room_of_samples(double samples);

// The range of codes of 16 bits.
Range wide_range(const TensorObserver& observer, const Bounds& bounds);

// Tensors of the network's head: vectors behind which there is nothing but vectors. A network of vectors alone has none:
// its layers are like any others. One flag a tensor.
void find_head(const Model& model, Span<bool> in_head);

// The range of a vector of the head, which has as few values in a sample as it has channels: the largest are still to come.
// Clipping here is an error of the answer, while rounding adds the least part of it. Each end is the largest that
// 256 samples are expected to show, by the spread s of the logarithms of what each sample showed:
//
//   end(256) = end(n) * 2^(s (z(256) - z(n)))   z(n): expected largest of n normal deviates
//   s^2 = (4 * 0.6^2 + (n - 1) * measured) / (n + 3), so that it is known with one sample, too
//
// If values have both signs, the shorter end is at least half the longer.
Range vector_range(const TensorObserver& observer, const Bounds& bounds);

// `range`, and at least 1.3 times what the samples' probes reach (probes.h); with more than 8 samples that counts for 8 / n
// of the way there. In the head it counts in full up to 4 samples, and ever less up to 8.
Range with_probes(const Range& range, const TensorObserver& observer, const Bounds& bounds,
                  bool in_head = false);

// Each sample's errors count by its own power: a few samples that reach far would otherwise outweigh all others.

// Counts become weighted ones. A sample k levels below the highest counts 4^k times, 4^kPowerLevels times at most. A bin's
// weight is the mean of its block's values. What does not fit 32 bits is as much as fits.
void weigh_samples(TensorObserver& observer);

}  // namespace intaglio
