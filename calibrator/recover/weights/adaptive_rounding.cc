#include "calibrator/recover/weights/adaptive_rounding.h"

namespace intaglio {
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
  // What taking the other code of `k` adds to the error.
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
  // Of inputs that move together one code may go up where another goes down. Each takes its best partner.
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

}  // namespace intaglio
