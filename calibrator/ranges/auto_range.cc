#include "calibrator/ranges/auto_range.h"

#include "calibrator/ranges/auto_rules.h"
#include "calibrator/ranges/range_models.h"
#include "calibrator/ranges/range_score.h"
#include "calibrator/ranges/ranges.h"
#include "intaglio/calibrator.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

Range half_range(const TensorObserver& o, int32_t half) {
  return {static_cast<double>(o.min[half]), static_cast<double>(o.max[half])};
}

// Where one half has seen far more than the other, a single sample often has, and room beyond that is wasted:
// the end goes some of the way (in logarithms) from the larger to the smaller one.
double between(float a, float b, double share) {
  const double x = static_cast<double>(a < 0.0f ? -a : a), y = static_cast<double>(b < 0.0f ? -b : b);
  const double larger = x > y ? x : y, smaller = x > y ? y : x;
  return smaller > 0.0
             ? larger * exp_real(kAutoRules.between_halves.share * share * log_real(smaller / larger))
             : larger;
}

Range between_halves(const TensorObserver& o) {
  const double samples = static_cast<double>(o.samples[0]) + o.samples[1];
  constexpr double kFull = kAutoRules.between_halves.full_samples,
                   kNone = kAutoRules.between_halves.no_samples;
  const double share = samples > kFull ? (samples < kNone ? (kNone - samples) / (kNone - kFull) : 0.0) : 1.0;
  return {-between(o.min[0], o.min[1], share), between(o.max[0], o.max[1], share)};
}

// Few samples do not show the largest values that will come: one half's min-max range, made wider or
// narrower, is scored on the values of the other half, and the factor that serves both ways is taken for the
// whole.
double best_room(const TensorObserver& o, RangeScore error) {
  if (o.samples[0] == 0 || o.samples[1] == 0) return kAutoRules.factor.one_sample;
  return error.best_factor(
      kAutoRules.factor.first, kAutoRules.factor.last, [&](const double* factors, double* errors) {
        error.add(factors, 1, errors, [&](double f) { return scaled(half_range(o, 0), f); });
        error.add(factors, 0, errors, [&](double f) { return scaled(half_range(o, 1), f); });
      });
}

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
  constexpr double kSpread = kAutoRules.head.spread, kWeight = kAutoRules.head.spread_samples,
                   kLn2 = 0.69314718055994531;
  if (peaks.count == 0) return 1.0;
  const double others = peaks.count - 1.0;
  const double variance = (kWeight * kSpread * kSpread + others * peaks.variance()) / (kWeight + others);
  return exp_real(kLn2 * sqrt_real(variance) *
                  (largest_of(kAutoRules.head.shown_samples) - largest_of(peaks.count)));
}

}  // namespace

double room_of(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& config,
               const FunctionBehind* behind) {
  return best_room(observer, RangeScore(observer, config, bounds.non_negative(), behind));
}

Range roomy_range(const TensorObserver& observer, double room) {
  return scaled(between_halves(observer), room);
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
Range with_probes(const Range& range, const TensorObserver& observer, const Bounds& bounds) {
  constexpr double kRoom = kAutoRules.probes.room, kFull = kAutoRules.probes.full_samples;
  const Range reached = within(
      {kRoom * static_cast<double>(observer.probe_min), kRoom * static_cast<double>(observer.probe_max)},
      bounds);
  const double samples = static_cast<double>(observer.samples[0]) + observer.samples[1];
  const double share = samples > kFull ? kFull / samples : 1.0;
  const auto end = [share](double own, double reach) {
    if (reach <= own || share == 1.0) return reach > own ? reach : own;
    return own > 0.0 ? own * exp_real(share * log_real(reach / own)) : share * reach;
  };
  return {-end(-range.lo, -reached.lo), end(range.hi, reached.hi)};
}

double tried_percentile(const TensorObserver& observer) {
  constexpr AutoRules::LeftOut kTimes = kAutoRules.left_out;
  const double left_out = 1.0 - CalibratorOptions().percentile;
  return 1.0 - (observer.two_sided != 0 ? kTimes.two_sided : kTimes.one_sided) * left_out;
}

}  // namespace intaglio
