#include "calibrator/ranges/ranges.h"

#include <limits>

#include "calibrator/ranges/range_models.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

Range scaled(const Range& range, double factor) { return {range.lo * factor, range.hi * factor}; }

Range half_range(const TensorObserver& o, int32_t half) {
  return {static_cast<double>(o.min[half]), static_cast<double>(o.max[half])};
}

uint64_t total(const TensorObserver& o) {
  uint64_t count = 0;
  for (const Histogram& half : o.halves)
    for (const uint32_t n : half.counts) count += n;
  return count;
}

// The smallest range of whole bins that leaves out at most (1 - share) / 2 of the values at each end.
Range percentile_range(const TensorObserver& o, double share) {
  const Range seen = seen_range(o);
  const double spare = static_cast<double>(total(o)) * (1.0 - share) / 2.0;
  const auto in_bin = [&o](int32_t bin) {
    return static_cast<double>(o.halves[0].counts[bin]) + o.halves[1].counts[bin];
  };
  int32_t first = 0, last = kBins - 1;
  for (double left_out = in_bin(first); left_out <= spare && first < last; left_out += in_bin(++first)) {
  }
  for (double left_out = in_bin(last); left_out <= spare && last > first; left_out += in_bin(--last)) {
  }
  const double lo = o.bin_start(first), hi = o.bin_start(last) + o.bin_width();
  return {lo > seen.lo ? lo : seen.lo, hi < seen.hi ? hi : seen.hi};
}

// Tries [first, last] / 32 times a range, some at once: `score` adds the error of each of kTrials factors to
// the sums it is given, which is least for the best. Ties go to the narrower one.
template <typename Score>
double best_factor(int32_t first, int32_t last, Score&& score) {
  double best = 1.0, least = -1.0;
  for (int32_t i = first; i <= last; i += kTrials) {
    double factors[kTrials], errors[kTrials] = {};
    for (int32_t t = 0; t < kTrials; ++t) factors[t] = (i + t < last ? i + t : last) / 32.0;
    score(factors, errors);
    for (int32_t t = 0; t < kTrials && i + t <= last; ++t) {
      if (least >= 0.0 && errors[t] >= least) continue;
      least = errors[t];
      best = factors[t];
    }
  }
  return best;
}

// Scores ranges on what one config makes of them.
class Scorer {
 public:
  Scorer(const TensorObserver& observer, const QuantConfig& form, bool non_negative)
      : observer_(observer), form_(form), non_negative_(non_negative) {}

  // errors[t] += that of range_of(factors[t]) on the values of one half.
  template <typename RangeOf>
  void add(const double* factors, int32_t half, double* errors, RangeOf&& range_of) const {
    QuantParams params[kTrials];
    for (int32_t t = 0; t < kTrials; ++t) params[t] = params_of(range_of(factors[t]), form_, non_negative_);
    double found[kTrials];
    quantization_errors(observer_, observer_.halves[half], form_, params, found);
    for (int32_t t = 0; t < kTrials; ++t) errors[t] += found[t];
  }
  template <typename RangeOf>
  void add_both(const double* factors, double* errors, RangeOf&& range_of) const {
    for (const int32_t half : {0, 1}) add(factors, half, errors, range_of);
  }

 private:
  const TensorObserver& observer_;
  const QuantConfig& form_;
  bool non_negative_;
};

// Both ends by one factor first, then each by its own.
Range mse_range(const TensorObserver& o, const Scorer& error) {
  const Range seen = seen_range(o);
  const auto best = [&](int32_t first, auto&& range_of) {
    return best_factor(
        first, 32, [&](const double* factors, double* errors) { error.add_both(factors, errors, range_of); });
  };
  Range range = scaled(seen, best(6, [&](double f) { return scaled(seen, f); }));
  if (o.two_sided == 0) return range;
  range.lo = seen.lo * best(1, [&](double f) { return Range{seen.lo * f, range.hi}; });
  range.hi = seen.hi * best(1, [&](double f) { return Range{range.lo, seen.hi * f}; });
  return range;
}

// Where one half has seen far more than the other, a single sample often has, and room beyond that is wasted:
// the end is half way (in logarithms) from the larger to the geometric mean of both; with 4 to 8 samples ever
// less of that way.
double between(float a, float b, double share) {
  const double x = static_cast<double>(a < 0.0f ? -a : a), y = static_cast<double>(b < 0.0f ? -b : b);
  const double larger = x > y ? x : y, smaller = x > y ? y : x;
  return smaller > 0.0 ? larger * exp_real(0.25 * share * log_real(smaller / larger)) : larger;
}

Range between_halves(const TensorObserver& o) {
  const double samples = static_cast<double>(o.samples[0]) + o.samples[1];
  const double share = samples > 4.0 ? (samples < 8.0 ? 2.0 - samples / 4.0 : 0.0) : 1.0;
  return {-between(o.min[0], o.min[1], share), between(o.max[0], o.max[1], share)};
}

// Few samples do not show the largest values that will come: one half's min-max range, made wider or
// narrower, is scored on the values of the other half, and the factor that serves both ways is taken for the
// whole.
double best_room(const TensorObserver& o, const Scorer& error) {
  constexpr double kUnseen = 1.5;  // for what one sample cannot show
  if (o.samples[0] == 0 || o.samples[1] == 0) return kUnseen;
  return best_factor(16, 64, [&](const double* factors, double* errors) {
    error.add(factors, 1, errors, [&](double f) { return scaled(half_range(o, 0), f); });
    error.add(factors, 0, errors, [&](double f) { return scaled(half_range(o, 1), f); });
  });
}

}  // namespace

namespace {

// Two trials.
typedef double Pair __attribute__((vector_size(16)));

// One pair's sum of squared errors.
class PairError {
 public:
  PairError(const QuantParams* params, const QuantConfig& form, double width) {
    for (int32_t t = 0; t < 2; ++t) {
      const auto step = static_cast<double>(params[t].scale);
      step_[t] = step;
      per_step_[t] = 1.0 / step;
      lo_[t] = step * (static_cast<double>(form.lo) - params[t].zero_point);
      hi_[t] = step * (static_cast<double>(form.hi) - params[t].zero_point);
      // Bins wider than a step hold values at all distances from the grid.
      least_[t] = width >= step ? step * step / 12 : width * width / 12;
      grid_[t] = width >= step ? 0.0 : 1.0;
    }
  }

  // The grid's nearest point is found by a product, and by the quotient where that is so close to the middle
  // of two that they might differ.
  void add(double x, double count) {
    constexpr double kMagic = 6755399441055744.0;  // see round_even()
    constexpr double kCertain = 0.5 - 1e-5;        // a code is below 2^32; what is clipped needs none
    const Pair position = x * per_step_;
    Pair code = (position + kMagic) - kMagic;
    const Pair off = position - code;
    const double larger = off[0] * off[0] > off[1] * off[1] ? off[0] * off[0] : off[1] * off[1];
    if (larger > kCertain * kCertain)
      for (int32_t t = 0; t < 2; ++t) code[t] = round_even(x / step_[t]);
    const Pair off_grid = (x - code * step_) * grid_, all = Pair{x, x};
    const Pair above = all > lo_ ? all : lo_, held = above < hi_ ? above : hi_, clipped = x - held;
    const Pair inside = clipped == 0.0 ? off_grid * off_grid + least_ : Pair{};
    sum_ += (clipped * clipped + inside) * count;
  }
  double sum(int32_t t) const { return sum_[t]; }

 private:
  Pair step_, per_step_, lo_, hi_, least_, grid_, sum_ = {};
};

}  // namespace

void quantization_errors(const TensorObserver& o, const Histogram& histogram, const QuantConfig& form,
                         const QuantParams* params, double* errors) {
  const double width = o.bin_width();
  const int32_t zero = o.two_sided != 0 ? kBins / 2 : 0;
  static_assert(kTrials == 4);
  PairError first(params, form, width), second(params + 2, form, width);
  for (int32_t bin = 0; bin < kBins; ++bin) {
    if (histogram.counts[bin] == 0) continue;
    const double x = (bin - zero) * width + width / 2, count = histogram.counts[bin];
    first.add(x, count);
    second.add(x, count);
  }
  for (int32_t t = 0; t < 2; ++t) {
    errors[t] = first.sum(t);
    errors[t + 2] = second.sum(t);
  }
}

namespace {

// With zero, and no further than the bounds.
Range within(const Range& range, const Bounds& bounds) {
  const double lo = range.lo < bounds.lo ? bounds.lo : range.lo;
  const double hi = range.hi > bounds.hi ? bounds.hi : range.hi;
  return {lo < 0.0 ? lo : 0.0, hi > 0.0 ? hi : 0.0};
}

// The expected largest of `n` normal deviates, for powers of two exactly.
double largest_of(uint32_t n) {
  constexpr double kLargest[] = {0.0, 0.56419, 1.02938, 1.42360, 1.76599, 2.06967, 2.34373, 2.59460, 2.82683};
  constexpr uint32_t kLast = sizeof kLargest / sizeof kLargest[0] - 1;
  uint32_t octave = 0;
  while (octave < kLast && uint32_t{2} << octave <= n) ++octave;
  if (octave == kLast) return kLargest[kLast];
  const double past = static_cast<double>(n) / (uint32_t{1} << octave) - 1.0;
  return kLargest[octave] + past * (kLargest[octave + 1] - kLargest[octave]);
}

// See vector_range().
double room_by_peaks(const PeakSums& peaks) {
  constexpr double kSpread = 0.6, kWeight = 4.0, kLn2 = 0.69314718055994531;
  if (peaks.count == 0) return 1.0;
  const double others = peaks.count - 1.0;
  const double variance = (kWeight * kSpread * kSpread + others * peaks.variance()) / (kWeight + others);
  return exp_real(kLn2 * sqrt_real(variance) * (largest_of(256) - largest_of(peaks.count)));
}

}  // namespace

double room_of(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& form) {
  return best_room(observer, Scorer(observer, form, bounds.non_negative()));
}

Range choose_range(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& form,
                   double percentile, double room) {
  const Range seen = seen_range(observer);
  const Scorer scorer(observer, form, bounds.non_negative());
  Range range = seen;
  switch (form.observer) {
    case RangeMethod::kMinMax:
      break;
    case RangeMethod::kPercentile:
      range = percentile_range(observer, percentile);
      break;
    case RangeMethod::kMse:
      range = mse_range(observer, scorer);
      break;
    case RangeMethod::kKl:
      range = kl_range(observer, form);
      break;
    case RangeMethod::kAciq:
      range = aciq_range(observer, form, bounds.non_negative());
      break;
    case RangeMethod::kAuto:
      range = scaled(between_halves(observer), room > 0.0 ? room : best_room(observer, scorer));
      break;
  }
  return within(range, bounds);
}

Range vector_range(const TensorObserver& observer, const Bounds& bounds) {
  const Range seen = seen_range(observer);
  Range range{seen.lo * room_by_peaks(observer.peaks[0]), seen.hi * room_by_peaks(observer.peaks[1])};
  if (observer.two_sided != 0) {
    if (range.hi < -0.5 * range.lo) range.hi = -0.5 * range.lo;
    if (-range.lo < 0.5 * range.hi) range.lo = -0.5 * range.hi;
  }
  return within(range, bounds);
}

// What probes reach counts in full with few samples, and ever less of the way (in logarithms) with more.
Range with_probes(const Range& range, const TensorObserver& observer, const Bounds& bounds) {
  constexpr double kRoom = 1.3;
  const Range reached = within(
      {kRoom * static_cast<double>(observer.probe_min), kRoom * static_cast<double>(observer.probe_max)},
      bounds);
  const double samples = static_cast<double>(observer.samples[0]) + observer.samples[1];
  const double share = samples > kFewSamples ? kFewSamples / samples : 1.0;
  const auto end = [share](double own, double reach) {
    if (reach <= own || share == 1.0) return reach > own ? reach : own;
    return own > 0.0 ? own * exp_real(share * log_real(reach / own)) : share * reach;
  };
  return {-end(-range.lo, -reached.lo), end(range.hi, reached.hi)};
}

}  // namespace intaglio
