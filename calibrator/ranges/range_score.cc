#include "calibrator/ranges/range_score.h"

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// Two trials.
typedef double Pair __attribute__((vector_size(16)));

// One pair's sum of squared errors.
class PairError {
 public:
  PairError(const QuantParams* params, const QuantConfig& config, double width,
            const FunctionBehind* behind) {
    for (int32_t t = 0; t < 2; ++t) {
      const auto step = static_cast<double>(params[t].scale);
      step_[t] = step;
      per_step_[t] = 1.0 / step;
      lo_[t] = step * (static_cast<double>(config.lo) - params[t].zero_point);
      hi_[t] = step * (static_cast<double>(config.hi) - params[t].zero_point);
      // Bins wider than a step hold values at all distances from the grid.
      least_[t] = width >= step ? step * step / 12 : width * width / 12;
      grid_[t] = width >= step ? 0.0 : 1.0;
      if (behind == nullptr) continue;
      behind_lo_[t] = behind->at(lo_[t]);
      behind_hi_[t] = behind->at(hi_[t]);
    }
  }

  void add(double x, double count) {
    const Parts parts = parts_of(x);
    sum_ += (parts.clipped * parts.clipped + parts.inside) * count;
  }
  // The same of a function's value there; `weight` is the square of its slope.
  void add_behind(double x, double count, double value, double weight) {
    const Parts parts = parts_of(x);
    const Pair all = Pair{value, value};
    const Pair beyond =
        parts.clipped < 0.0 ? all - behind_lo_ : (parts.clipped > 0.0 ? all - behind_hi_ : Pair{});
    sum_ += (beyond * beyond + parts.inside * weight) * count;
  }
  double sum(int32_t t) const { return sum_[t]; }

 private:
  struct Parts {
    Pair clipped, inside;  // what lies beyond an end; the squared error of what does not
  };

  // The grid's nearest point is found by a product, and by the quotient where that is so close to the middle
  // of two that they might differ.
  Parts parts_of(double x) const {
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
    return {clipped, clipped == 0.0 ? off_grid * off_grid + least_ : Pair{}};
  }

  Pair step_, per_step_, lo_, hi_, least_, grid_, behind_lo_ = {}, behind_hi_ = {}, sum_ = {};
};

}  // namespace

void quantization_errors(const TensorObserver& o, const Histogram& histogram, const QuantConfig& config,
                         const QuantParams* params, double* errors, const FunctionBehind* behind) {
  const double width = o.bin_width();
  const int32_t zero = o.zero_bin();
  static_assert(kTrials == 4);
  PairError first(params, config, width, behind), second(params + 2, config, width, behind);
  for (int32_t bin = 0; bin < o.bins(); ++bin) {
    if (histogram.counts[bin] == 0) continue;
    const double x = (bin - zero) * width + width / 2, count = histogram.counts[bin];
    if (behind == nullptr) {
      first.add(x, count);
      second.add(x, count);
    } else {
      const auto value = static_cast<double>(behind->value[bin]),
                 weight = static_cast<double>(behind->weight[bin]);
      first.add_behind(x, count, value, weight);
      second.add_behind(x, count, value, weight);
    }
  }
  for (int32_t t = 0; t < 2; ++t) {
    errors[t] = first.sum(t);
    errors[t + 2] = second.sum(t);
  }
}

CountSums::CountSums(const TensorObserver& observer, const Histogram& histogram)
    : counts_(histogram.counts),
      width_(observer.bin_width()),
      zero_(observer.zero_bin()),
      bins_(observer.bins()) {
  at_zero_ = static_cast<double>(counts_[zero_]);
  Sums sums;
  for (int32_t bin = 0; bin < bins_; ++bin) {
    if (bin % kBlock == 0) before_[bin / kBlock] = sums;
    add(sums, bin);
  }
  before_[bins_ / kBlock] = sums;
}

void CountSums::add(Sums& sums, int32_t bin) const {
  if (counts_[bin] == 0 || bin == zero_) return;
  const double count = counts_[bin], place = bin - zero_ + 0.5;
  sums.count += count;
  sums.places += count * place;
  sums.squares += count * place * place;
}

CountSums::Sums CountSums::before(int32_t bin) const {
  Sums sums = before_[bin / kBlock];
  for (int32_t i = bin / kBlock * kBlock; i < bin; ++i) add(sums, i);
  return sums;
}

int32_t CountSums::bins_before(double place) const {
  const double bins = place - 0.5 + zero_;
  if (!(bins > 0.0)) return 0;
  if (bins > bins_) return bins_;
  const auto whole = static_cast<int32_t>(bins);
  return whole < bins ? whole + 1 : whole;
}

double CountSums::error(const QuantParams& params, const QuantConfig& config) const {
  const auto step = static_cast<double>(params.scale);
  const double codes = step / width_, lo = codes * (static_cast<double>(config.lo) - params.zero_point),
               hi = codes * (static_cast<double>(config.hi) - params.zero_point);
  // Cancellation may leave a small negative number, which is no error.
  const auto clipped = [](const Sums& sums, double end) {
    const double sum = sums.squares - 2.0 * end * sums.places + end * end * sums.count;
    return sum > 0.0 ? sum : 0.0;
  };
  const Sums below = before(bins_before(lo)), held = before(bins_before(hi)), &all = before_[bins_ / kBlock];
  const Sums above{all.count - held.count, all.places - held.places, all.squares - held.squares};
  const double at_zero = codes <= 1.0 ? codes * codes : 4.0;
  const double inside = (held.count - below.count) * codes * codes + at_zero_ * at_zero;
  return width_ * width_ * (inside / 12.0 + clipped(below, lo) + clipped(above, hi));
}

// With fewer codes a step holds so many values that where they stand in it is no chance.
constexpr int64_t kManyCodes = 200;

RangeScore::RangeScore(const TensorObserver& observer, const QuantConfig& config, bool non_negative,
                       const FunctionBehind* behind)
    : observer_(observer),
      config_(config),
      non_negative_(non_negative),
      behind_(behind),
      by_sums_(behind == nullptr && int64_t{config.hi} - config.lo >= kManyCodes) {
  if (!by_sums_) return;
  for (int32_t half = 0; half < observer.halves(); ++half)
    sums_[half] = CountSums(observer, observer.counts->halves[half]);
}

void RangeScore::add_errors(const QuantParams* params, int32_t half, double* errors) const {
  double found[kTrials];
  if (nearly_)
    for (int32_t t = 0; t < kTrials; ++t) found[t] = sums_[half].error(params[t], config_);
  else
    quantization_errors(observer_, observer_.counts->halves[half], config_, params, found, behind_);
  for (int32_t t = 0; t < kTrials; ++t) errors[t] += found[t];
}

}  // namespace intaglio
