#include "calibrator/ranges/observed_range.h"

#include <initializer_list>

#include "calibrator/ranges/auto_rules.h"
#include "calibrator/ranges/range_score.h"
#include "calibrator/ranges/ranges.h"
#include "runtime/real_functions.h"

namespace intaglio {

namespace {

constexpr double kLn2 = 0.69314718055994531;

double samples_of(const TensorObserver& o) { return static_cast<double>(o.samples[0]) + o.samples[1]; }

// The expected largest of `n` normal deviates, for powers of two exactly.
double largest_of(uint32_t n) {
  constexpr double kLargest[] = {0.0, 0.56419, 1.02938, 1.42360, 1.76599, 2.06967, 2.34373, 2.59460, 2.82683};
  constexpr uint32_t kLast = sizeof kLargest / sizeof kLargest[0] - 1;
  static_assert(kAutoRules.head.shown_samples <= uint32_t{1} << kLast);
  uint32_t octave = 0;
  while (octave < kLast && uint32_t{2} << octave <= n) ++octave;
  if (octave == kLast) return kLargest[kLast];
  const double past = static_cast<double>(n) / (uint32_t{1} << octave) - 1.0;
  return kLargest[octave] + past * (kLargest[octave + 1] - kLargest[octave]);
}

// See vector_range().
double room_by_peaks(const PeakSums& peaks) {
  constexpr double kSpread = kAutoRules.head.spread, kWeight = kAutoRules.head.spread_samples;
  if (peaks.count == 0) return 1.0;
  const double others = peaks.count - 1.0;
  const double variance = (kWeight * kSpread * kSpread + others * peaks.variance()) / (kWeight + others);
  return exp_real(kLn2 * sqrt_real(variance) *
                  (largest_of(kAutoRules.head.shown_samples) - largest_of(peaks.count)));
}

// How much of what probes reach counts.
double probes_share(double samples, bool in_head) {
  constexpr double kFull = kAutoRules.probes.full_samples;
  constexpr double kHeadFull = kAutoRules.probes.head_full_samples;
  constexpr double kHeadNone = kAutoRules.probes.head_no_samples;
  constexpr double kLeast = kAutoRules.probes.least_share;
  const double of_many = kFull / samples > kLeast ? kFull / samples : kLeast;
  const double share = in_head ? (kHeadNone - samples) / (kHeadNone - kHeadFull) : of_many;
  return share < 1.0 ? (share > 0.0 ? share : 0.0) : 1.0;
}

}  // namespace

double room_of_samples(double samples) {
  return exp_real(kLn2 * kAutoRules.room.octaves / sqrt_real(samples + 1.0));
}

double room_of(const TensorObserver& observer) { return room_of_samples(samples_of(observer)); }

Range wide_range(const TensorObserver& observer, const Bounds& bounds) {
  return within(scaled(seen_range(observer), kAutoRules.wide_room), bounds);
}

void find_head(const Model& model, Span<bool> in_head) {
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const Shape shape = model.tensor(t).shape;
    in_head[static_cast<size_t>(t)] = shape.rank > 0 && shape.elements() == shape.back(0);
  }
  for (int32_t n = model.node_count() - 1; n >= 0; --n) {
    const NodeInfo node = model.node(n);
    bool all = true;
    for (const int32_t output : node.outputs) all = all && in_head[static_cast<size_t>(output)];
    for (const int32_t input : node.inputs)
      if (input >= 0 && !all) in_head[static_cast<size_t>(input)] = false;
  }
  bool is_all = true;
  for (const int32_t input : model.inputs()) is_all = is_all && in_head[static_cast<size_t>(input)];
  for (bool& is_in_head : in_head) is_in_head = is_in_head && !is_all;
}

Range vector_range(const TensorObserver& observer, const Bounds& bounds) {
  const Range seen = seen_range(observer);
  Range range{seen.lo * room_by_peaks(observer.peaks[0]), seen.hi * room_by_peaks(observer.peaks[1])};
  if (observer.two_sided != 0) {
    constexpr double kWeight = kAutoRules.head.spread_samples;
    const double shorter = kAutoRules.head.shorter_end * kWeight / (kWeight + samples_of(observer) - 1.0);
    if (range.hi < -shorter * range.lo) range.hi = -shorter * range.lo;
    if (-range.lo < shorter * range.hi) range.lo = -shorter * range.hi;
  }
  return within(range, bounds);
}

// The range of probes counts in full with few samples, and ever less of the way (in logarithms) with more.
Range with_probes(const Range& range, const TensorObserver& observer, const Bounds& bounds, bool in_head) {
  constexpr double kRoom = kAutoRules.probes.room;
  const Range reached = within(
      {kRoom * static_cast<double>(observer.probe_min), kRoom * static_cast<double>(observer.probe_max)},
      bounds);
  const double share = probes_share(samples_of(observer), in_head);
  const auto end = [share](double own, double reach) {
    if (reach <= own || share == 1.0) return reach > own ? reach : own;
    return own > 0.0 ? own * exp_real(share * log_real(reach / own)) : share * reach;
  };
  return {-end(-range.lo, -reached.lo), end(range.hi, reached.hi)};
}

namespace {

// The mean square of the values in a block.
double mean_weight(const TensorObserver& o, int32_t half, int32_t block, uint64_t values) {
  uint64_t lower = values, weighted = 0;
  for (int32_t level = 0; level < kPowerLevels; ++level) {
    const uint64_t of_level = o.counts->halves[half].levels[level][block];
    weighted += of_level << kAutoRules.weights.doublings * level;
    lower -= of_level;
  }
  weighted += lower << kAutoRules.weights.doublings * kPowerLevels;
  return static_cast<double>(weighted) / static_cast<double>(values);
}

}  // namespace

void weigh_samples(TensorObserver& o) {
  constexpr double kMost = 4294967295.0;
  const int32_t zero_block = o.two_sided != 0 ? kBlocks / 2 : 0, block_bins = o.bins() / kBlocks;
  for (int32_t half = 0; half < o.halves(); ++half)
    for (int32_t block = 0; block < kBlocks; ++block) {
      uint32_t* const counts = o.counts->halves[half].counts + block * block_bins;
      uint64_t values = 0;
      for (int32_t i = 0; i < block_bins; ++i) values += counts[i];
      if (block == zero_block) values -= o.counts->levels.zeros[half];
      if (values == 0) continue;
      const double weight = mean_weight(o, half, block, values);
      if (weight == 1.0) continue;
      for (int32_t i = 0; i < block_bins; ++i) {
        const double count = round_even(counts[i] * weight);
        counts[i] = static_cast<uint32_t>(count < kMost ? count : kMost);
      }
    }
}

// The observed range of a tensor, its bounds, and the function of one variable that alone reads it, if there is one.
struct RangeFinder::Seen {
  const TensorObserver& observer;
  Bounds bounds;
  const FunctionBehind* behind = nullptr;
};

bool RangeFinder::find(int32_t tensor, const QuantConfig& config, Range& range) const {
  if (find_of_input(tensor, config, range)) return true;
  if (source_.seen.sample_count == 0) return false;
  range = of_seen(tensor, config);
  return true;
}

const TensorObserver& RangeFinder::observer(int32_t tensor) const {
  return source_.seen
      .observers[static_cast<size_t>(source_.observing.observer_of[static_cast<size_t>(tensor)])];
}

// The range of an input whose values come from codes. Pixels by the model's recipe have their own range whatever the
// method and the config: it is known without samples.
bool RangeFinder::find_of_input(int32_t tensor, const QuantConfig& config, Range& range) const {
  const int32_t input = facts_.input_at(tensor);
  if (input < 0) return false;
  const InputValues& values = source_.seen.inputs[static_cast<size_t>(input)];
  if (range_of_pixels(source_.fp32.model, input, values, range)) return true;
  if (!is_auto(config) || config.bits != 8 || config.has(policy::kSymmetric) ||
      config.has(policy::kPowerOfTwo))
    return false;
  const double step = code_step(values);
  return step > 0.0 && range_of_codes(step, seen_range(observer(tensor)), range);
}

// A method that the caller asks for by name looks at the tensor alone. With a function behind a tensor the observer is
// the spare one.
RangeFinder::Seen RangeFinder::seen_of(int32_t tensor, const QuantConfig& config) const {
  const TensorObserver& all = observer(tensor);
  const Bounds bounds = facts_.bounds(tensor);
  const int32_t reader = is_auto(config) ? facts_.function_reader(tensor) : -1;
  if (reader < 0) return {all, bounds};
  behind_->function = facts_.rule(reader)->unary;
  behind_->options = source_.fp32.model.node(reader).options;
  behind_->set_factors(source_.fp32.factors_of(reader),
                       static_cast<size_t>(source_.fp32.model.tensor(tensor).shape.back(0)));
  if (!look_behind(all, *behind_)) return {all, bounds};
  const Range apart = told_apart(all, *behind_);
  const Bounds told{apart.lo > bounds.lo ? apart.lo : bounds.lo, apart.hi < bounds.hi ? apart.hi : bounds.hi};
  spare_ = all;
  for (const int32_t half : {0, 1}) {
    const Range kept = within({static_cast<double>(all.min[half]), static_cast<double>(all.max[half])}, told);
    spare_.min[half] = static_cast<float>(kept.lo);
    spare_.max[half] = static_cast<float>(kept.hi);
  }
  return {spare_, told, behind_};
}

Range RangeFinder::of_seen(int32_t tensor, const QuantConfig& config) const {
  if (config.bits > 8 && is_auto(config)) return wide_range(observer(tensor), facts_.bounds(tensor));
  const Seen known = seen_of(tensor, config);
  const bool is_input = facts_.writer(tensor) < 0, in_head = facts_.is_in_head(tensor);
  const bool is_probed = config.observer == RangeMethod::kAuto &&
                         source_.seen.sample_count < kAutoRules.probes.samples && !is_input;
  Range range = is_auto(config) && !is_input && half_ == kBothHalves && in_head
                    ? vector_range(known.observer, known.bounds)
                    : by_method(known, config);
  if (is_auto(config) && !is_input && !in_head && facts_.is_score(tensor))
    range = with_scores(range, tensor, known);
  return is_probed ? with_probes(range, observer(tensor), known.bounds, in_head) : range;
}

// Most places of a map hold nothing, so the least squared error would cut off the few large scores. What was seen stays, with room,
// as far as the function behind tells it apart.
Range RangeFinder::with_scores(const Range& range, int32_t tensor, const Seen& known) const {
  const TensorObserver& all = observer(tensor);
  Range seen = seen_range(all);
  double samples = samples_of(all);
  if (half_ != kBothHalves) {
    seen = within({static_cast<double>(all.min[half_]), static_cast<double>(all.max[half_])},
                  facts_.bounds(tensor));
    samples = all.samples[half_];
  }
  Range reach = scaled(seen, room_of_samples(samples));
  if (seen.lo < known.bounds.lo) reach.lo = known.bounds.lo;
  if (seen.hi > known.bounds.hi) reach.hi = known.bounds.hi;
  reach = within(reach, facts_.bounds(tensor));
  return {range.lo < reach.lo ? range.lo : reach.lo, range.hi > reach.hi ? range.hi : reach.hi};
}

Range RangeFinder::by_method(const Seen& seen, const QuantConfig& config) const {
  // The caller's share is for the caller's method alone; the search tries the default.
  const double percentile = source_.options.method == RangeMethod::kAuto ? CalibratorOptions().percentile
                                                                         : source_.options.percentile;
  const bool weighs = is_auto(config);  // also what the search tries in its place
  if (half_ == kBothHalves && !weighs)
    return choose_range(seen.observer, seen.bounds, config, percentile, seen.behind);
  if (&spare_ != &seen.observer) spare_ = seen.observer;
  if (half_ != kBothHalves) {
    const int32_t other = 1 - half_;
    spare_.min[other] = spare_.max[other] = 0.0f;
    spare_.samples[other] = 0;
    if (spare_.counts != nullptr) memset(spare_.counts->halves[other].counts, 0, spare_.counts->half_bytes());
  }
  if (weighs) weigh_samples(spare_);
  return choose_range(spare_, seen.bounds, config, percentile, seen.behind);
}

}  // namespace intaglio
