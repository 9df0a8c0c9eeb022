#include "calibrator/ranges.h"

#include <limits>

#include "calibrator/range_models.h"
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

// Tries [first, last] / 32 times a range; `score` is least for the best. Ties go to the narrower one.
template <typename Score>
double best_factor(int32_t first, int32_t last, Score&& score) {
  double best = 1.0, least = -1.0;
  for (int32_t i = first; i <= last; ++i) {
    const double factor = i / 32.0;
    const double error = score(factor);
    if (least >= 0.0 && error >= least) continue;
    least = error;
    best = factor;
  }
  return best;
}

// Scores ranges on what one config makes of them.
class Scorer {
 public:
  Scorer(const TensorObserver& observer, const QuantConfig& form, bool non_negative)
      : observer_(observer), form_(form), non_negative_(non_negative) {}

  double operator()(const Range& range, int32_t half) const {
    return quantization_error(observer_, observer_.halves[half], form_,
                              params_of(range, form_, non_negative_));
  }
  double both(const Range& range) const { return (*this)(range, 0) + (*this)(range, 1); }

 private:
  const TensorObserver& observer_;
  const QuantConfig& form_;
  bool non_negative_;
};

// Both ends by one factor first, then each by its own.
Range mse_range(const TensorObserver& o, const Scorer& error) {
  Range range = scaled(seen_range(o),
                       best_factor(6, 32, [&](double f) { return error.both(scaled(seen_range(o), f)); }));
  if (o.two_sided == 0) return range;
  const Range seen = seen_range(o);
  range.lo = seen.lo * best_factor(1, 32, [&](double f) { return error.both({seen.lo * f, range.hi}); });
  range.hi = seen.hi * best_factor(1, 32, [&](double f) { return error.both({range.lo, seen.hi * f}); });
  return range;
}

// Few samples do not show the largest values that will come: one half's min-max range, made wider or
// narrower, is scored on the values of the other half, and the factor that serves both ways is taken for the
// whole.
double best_room(const TensorObserver& o, const Scorer& error) {
  constexpr double kUnseen = 1.5;  // for what one sample cannot show
  if (o.samples[0] == 0 || o.samples[1] == 0) return kUnseen;
  return best_factor(16, 64, [&](double f) {
    return error(scaled(half_range(o, 0), f), 1) + error(scaled(half_range(o, 1), f), 0);
  });
}

}  // namespace

double quantization_error(const TensorObserver& o, const Histogram& histogram, const QuantConfig& form,
                          const QuantParams& params) {
  const auto step = static_cast<double>(params.scale);
  const double lo = step * (static_cast<double>(form.lo) - params.zero_point),
               hi = step * (static_cast<double>(form.hi) - params.zero_point);
  const double width = o.bin_width();
  double error = 0.0;
  for (int32_t bin = 0; bin < kBins; ++bin) {
    if (histogram.counts[bin] == 0) continue;
    const double x = o.bin_start(bin) + width / 2;
    double e;
    if (x < lo) {
      e = (lo - x) * (lo - x);
    } else if (x > hi) {
      e = (x - hi) * (x - hi);
    } else if (width >= step) {
      e = step * step / 12;
    } else {
      const double off_grid = x - round_even(x / step) * step;
      e = off_grid * off_grid + width * width / 12;
    }
    error += e * histogram.counts[bin];
  }
  return error;
}

double room_of(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& form) {
  return best_room(observer, Scorer(observer, form, bounds.non_negative()));
}

Range choose_range(const TensorObserver& observer, const Bounds& bounds, const QuantConfig& form,
                   double percentile, double room) {
  const Range seen = seen_range(observer);
  if (bounds.filled && seen.lo >= bounds.lo && seen.hi <= bounds.hi) return {bounds.lo, bounds.hi};
  // Values that no pixel gives: an array, not a picture, and the pixels' bounds say nothing about it.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (bounds.filled) return choose_range(observer, {-kInfinity, kInfinity}, form, percentile, room);
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
      range = scaled(seen, room > 0.0 ? room : best_room(observer, scorer));
      break;
  }
  range.lo = range.lo < bounds.lo ? bounds.lo : range.lo;
  range.hi = range.hi > bounds.hi ? bounds.hi : range.hi;
  return {range.lo < 0.0 ? range.lo : 0.0, range.hi > 0.0 ? range.hi : 0.0};
}

}  // namespace intaglio
