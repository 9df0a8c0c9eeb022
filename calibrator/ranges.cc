#include "calibrator/ranges.h"

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr double kSteps = 255.0;

Range scaled(const Range& range, double factor) { return {range.lo * factor, range.hi * factor}; }

Range half_range(const TensorObserver& o, int32_t half) {
  return {static_cast<double>(o.min[half]), static_cast<double>(o.max[half])};
}

Range seen_range(const TensorObserver& o) {
  const Range even = half_range(o, 0), odd = half_range(o, 1);
  return {even.lo < odd.lo ? even.lo : odd.lo, even.hi > odd.hi ? even.hi : odd.hi};
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

Range mse_range(const TensorObserver& o) {
  const Range seen = seen_range(o);
  const double factor = best_factor(6, 32, [&](double f) {
    return quantization_error(o, o.halves[0], scaled(seen, f)) +
           quantization_error(o, o.halves[1], scaled(seen, f));
  });
  return scaled(seen, factor);
}

// Few samples do not show the largest values that will come: one half's min-max range, made wider or
// narrower, is scored on the values of the other half, and the factor that serves both ways is taken for the
// whole.
Range auto_range(const TensorObserver& o) {
  constexpr double kUnseen = 1.5;  // room for what one sample cannot show
  const Range seen = seen_range(o);
  if (o.samples[0] == 0 || o.samples[1] == 0) return scaled(seen, kUnseen);
  const double factor = best_factor(16, 64, [&](double f) {
    return quantization_error(o, o.halves[1], scaled(half_range(o, 0), f)) +
           quantization_error(o, o.halves[0], scaled(half_range(o, 1), f));
  });
  return scaled(seen, factor);
}

}  // namespace

double quantization_error(const TensorObserver& o, const Histogram& histogram, const Range& range) {
  const double step = (range.hi - range.lo) / kSteps;
  const double width = o.bin_width();
  double error = 0.0;
  for (int32_t bin = 0; bin < kBins; ++bin) {
    if (histogram.counts[bin] == 0) continue;
    const double x = o.bin_start(bin) + width / 2;
    double e;
    if (x < range.lo) {
      e = (range.lo - x) * (range.lo - x);
    } else if (x > range.hi) {
      e = (x - range.hi) * (x - range.hi);
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

Range choose_range(const TensorObserver& observer, const Bounds& bounds, const CalibratorOptions& options) {
  const Range seen = seen_range(observer);
  if (bounds.filled && seen.lo >= bounds.lo && seen.hi <= bounds.hi) return {bounds.lo, bounds.hi};
  // Values that no pixel gives: an array, not a picture, and the pixels' bounds say nothing about it.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (bounds.filled) return choose_range(observer, {-kInfinity, kInfinity}, options);
  Range range = seen;
  switch (options.method) {
    case RangeMethod::kMinMax:
      break;
    case RangeMethod::kPercentile:
      range = percentile_range(observer, options.percentile);
      break;
    case RangeMethod::kMse:
      range = mse_range(observer);
      break;
    case RangeMethod::kAuto:
      range = auto_range(observer);
      break;
  }
  range.lo = range.lo < bounds.lo ? bounds.lo : range.lo;
  range.hi = range.hi > bounds.hi ? bounds.hi : range.hi;
  return {range.lo < 0.0 ? range.lo : 0.0, range.hi > 0.0 ? range.hi : 0.0};
}

}  // namespace intaglio
