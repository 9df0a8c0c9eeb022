#include "calibrator/recover/weights/weight_recoveries.h"
#include "runtime/quantization_range.h"
#include "runtime/real_functions.h"

namespace intaglio {

double fake_quantize(const FakeQuantizer& q, double x) {
  const double high = q.low + q.range;
  const double clipped = x < q.low ? q.low : (x > high ? high : x);
  return round_even((clipped - q.low) / q.step()) * q.step() + q.low;
}

SymmetricGradient fake_quantize_gradient(const SymmetricQuantizer& s, double x, double y) {
  const FakeQuantizer q = s.quantizer();
  if (x < q.low) return {0.0, s.ratio()};
  if (x > q.low + q.range) return {0.0, 1.0};
  return {1.0, (y - x) * (1.0 - s.ratio()) / q.range};
}

void SignDescent::follow(double gradient) {
  if (gradient == 0.0) return;
  const double sign = gradient > 0.0 ? 1.0 : -1.0;
  if (last_ != 0.0) step_ *= sign == last_ ? 1.2 : 0.5;
  step_ = step_ < kLargestStep ? step_ : kLargestStep;
  last_ = sign;
  value_ *= 1.0 - sign * step_;
}

namespace {

double floor_of(double x) {
  const auto whole = static_cast<double>(static_cast<int64_t>(x));
  return whole > x ? whole - 1.0 : whole;
}

// One block of a row, in units of its scale.
class Descent {
 public:
  Descent(const WeightRow& row, int32_t block)
      : size_(row.moments->size(block)),
        stride_(row.moments->block),
        covariance_(row.moments->covariance(row.group(), block)),
        codes_(row.codes + row.moments->start(block)),
        gradient_(row.lanes),
        step_(row.lanes + size_) {
    const double* const reals = row.reals + row.moments->start(block);
    for (int32_t k = 0; k < size_; ++k) gradient_[k] = 0.0;
    for (int32_t k = 0; k < size_; ++k) {
      const double exact = reals[k] / row.scale;
      const double lower = row.clamp(floor_of(exact)), upper = row.clamp(lower + 1.0);
      step_[k] = (codes_[k] == lower ? upper : lower) - codes_[k];
      add_to_gradient(k, codes_[k] - exact);
    }
  }

  void run(int32_t sweeps) {
    for (int32_t sweep = 0; sweep < sweeps; ++sweep)
      if (!change_each() && !change_pairs()) return;
  }

 private:
  const double* row(int32_t k) const { return covariance_ + int64_t{k} * stride_; }
  // The change of the error if `k` takes its other code.
  double cost(int32_t k) const { return step_[k] * (2.0 * gradient_[k] + step_[k] * row(k)[k]); }

  bool change_each() {
    bool changed = false;
    for (int32_t k = 0; k < size_; ++k) {
      if (!(cost(k) < 0.0)) continue;
      change(k);
      changed = true;
    }
    return changed;
  }
  // With correlated inputs one code may go up where another goes down. Each takes its best partner.
  bool change_pairs() {
    bool changed = false;
    for (int32_t k = 0; k + 1 < size_; ++k) {
      const double own = cost(k), twice = 2.0 * step_[k];
      const double* const covariances = row(k);
      double least = 0.0;
      int32_t partner = -1;
      for (int32_t j = k + 1; j < size_; ++j) {
        const double sum = own + cost(j) + twice * step_[j] * covariances[j];
        if (!(sum < least)) continue;
        least = sum;
        partner = j;
      }
      if (partner < 0) continue;
      change(k);
      change(partner);
      changed = true;
    }
    return changed;
  }

  void change(int32_t k) {
    codes_[k] += step_[k];
    add_to_gradient(k, step_[k]);
    step_[k] = -step_[k];
  }
  void add_to_gradient(int32_t k, double difference) {
    if (difference == 0.0) return;
    const double* const covariances = row(k);
    for (int32_t i = 0; i < size_; ++i) gradient_[i] += difference * covariances[i];
  }

  int32_t size_, stride_;
  const double* covariance_;
  double* codes_;
  double* gradient_;  // [size], of half the error by the codes
  double* step_;      // [size], to the other code; 0 where there is none
};

}  // namespace

LayerError round_adaptively(LayerWeights& weights, const WeightWork& work, int32_t sweeps) {
  return change_rows(weights, work, [sweeps](WeightRow& row) {
    for (int32_t b = 0; b < row.moments->blocks; ++b) Descent(row, b).run(sweeps);
  });
}

namespace {

constexpr double kFirstStep = 0.01;

// Error of a row, and its derivative by the scale of the symmetric quantizer.
struct ScaleGradient {
  double error, slope;
};

ScaleGradient gradient_of(const WeightRow& row, const SymmetricQuantizer& quantizer) {
  double* const difference = row.spare;
  for (int32_t k = 0; k < row.depth; ++k)
    difference[k] = fake_quantize(quantizer.quantizer(), row.reals[k]) - row.reals[k];
  ScaleGradient sum{0.0, 0.0};
  double* const products = row.lanes;  // covariance times difference
  for (int32_t b = 0; b < row.moments->blocks; ++b) {
    const int32_t size = row.moments->size(b), start = row.moments->start(b);
    for (int32_t i = 0; i < size; ++i) products[i] = 0.0;
    const double* covariance = row.moments->covariance(row.group(), b);
    for (int32_t k = 0; k < size; ++k, covariance += row.moments->block)
      for (int32_t i = 0; i < size; ++i) products[i] += difference[start + k] * covariance[i];
    for (int32_t k = 0; k < size; ++k) {
      const double x = row.reals[start + k], d = difference[start + k];
      sum.error += d * products[k];
      sum.slope += 2.0 * products[k] * fake_quantize_gradient(quantizer, x, x + d).scale;
    }
  }
  return sum;
}

void learn_row(WeightRow& row, int32_t steps) {
  const double last = static_cast<double>(row.largest);
  SignDescent scale(row.scale * last, kFirstStep);
  double best = row_error(row, row.codes, row.scale), best_scale = 0.0;
  for (int32_t step = 0; step <= steps; ++step) {
    const ScaleGradient found = gradient_of(row, {scale.value(), -row.largest, row.largest});
    const auto as_stored = static_cast<float>(scale.value() / last);
    if (found.error < best && is_scale(as_stored)) {
      best = found.error;
      best_scale = static_cast<double>(as_stored);
    }
    scale.follow(found.slope);
  }
  if (best_scale == 0.0) return;
  row.scale = best_scale;
  nearest_codes(row, best_scale, row.codes);
}

}  // namespace

LayerError learn_weight_scales(LayerWeights& weights, const WeightWork& work, int32_t steps) {
  return change_rows(weights, work, [steps](WeightRow& row) { learn_row(row, steps); });
}

namespace {

static_assert(kScaleFactors % kLanes == 0);

void fill_lane(const WeightRow& row, int32_t lane, double scale) {
  for (int32_t k = 0; k < row.depth; ++k)
    row.lanes[int64_t{k} * kLanes + lane] =
        row.clamp(round_even(row.reals[k] / scale)) * scale - row.reals[k];
}

void search_row(WeightRow& row) {
  double best = row_error(row, row.codes, row.scale), best_scale = 0.0;
  for (int32_t first = 0; first < kScaleFactors; first += kLanes) {
    double scales[kLanes], errors[kLanes];
    for (int32_t l = 0; l < kLanes; ++l) {
      scales[l] = static_cast<double>(static_cast<float>(row.scale * scale_factor(first + l)));
      fill_lane(row, l, scales[l]);
    }
    lane_errors(row, errors);
    for (int32_t l = 0; l < kLanes; ++l) {
      const bool legal =
          scales[l] >= static_cast<double>(kMinScale) && scales[l] <= static_cast<double>(kMaxScale);
      if (!legal || !(errors[l] < best)) continue;
      best = errors[l];
      best_scale = scales[l];
    }
  }
  if (best_scale == 0.0) return;
  row.scale = best_scale;
  nearest_codes(row, best_scale, row.codes);
}

}  // namespace

// 1, then from 1.05 down to 0.7: where two are equal, the first wins.
double scale_factor(int32_t i) {
  if (i == 0) return 1.0;
  return 1.05 - 0.35 * (i - 1) / (kScaleFactors - 2);
}

LayerError search_weight_scales(LayerWeights& weights, const WeightWork& work) {
  return change_rows(weights, work, [](WeightRow& row) { search_row(row); });
}

}  // namespace intaglio
