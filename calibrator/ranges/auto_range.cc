#include "calibrator/ranges/auto_range.h"

#include "calibrator/ranges/auto_rules.h"
#include "calibrator/ranges/range_models.h"
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
  const double share = in_head ? (kHeadNone - samples) / (kHeadNone - kHeadFull) : kFull / samples;
  return share < 1.0 ? (share > 0.0 ? share : 0.0) : 1.0;
}

}  // namespace

double room_of(const TensorObserver& observer) {
  return exp_real(kLn2 * kAutoRules.room.octaves / sqrt_real(samples_of(observer) + 1.0));
}

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
    constexpr double kShorter = kAutoRules.head.shorter_end;
    if (range.hi < -kShorter * range.lo) range.hi = -kShorter * range.lo;
    if (-range.lo < kShorter * range.hi) range.lo = -kShorter * range.hi;
  }
  return within(range, bounds);
}

// What probes reach counts in full with few samples, and ever less of the way (in logarithms) with more.
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

}  // namespace intaglio
