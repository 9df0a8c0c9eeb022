// Ranges scored by the squared error of what their codes make of the values seen.
#pragma once

#include "calibrator/ranges/function_behind.h"

namespace intaglio {

inline Range scaled(const Range& range, double factor) { return {range.lo * factor, range.hi * factor}; }

// Parameters that are tried at once: their sums do not wait for each other.
inline constexpr int32_t kTrials = 4;

// errors[t]: sum of the squared errors of `histogram`'s values on the codes of `config` with params[t], each
// added up in the order of the bins. Both [kTrials]. With a function behind the tensor: of its value.
void quantization_errors(const TensorObserver& observer, const Histogram& histogram,
                         const QuantConfig& config, const QuantParams* params, double* errors,
                         const FunctionBehind* behind = nullptr);

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
class RangeScore {
 public:
  RangeScore(const TensorObserver& observer, const QuantConfig& config, bool non_negative,
             const FunctionBehind* behind)
      : observer_(observer), config_(config), non_negative_(non_negative), behind_(behind) {}

  // errors[t] += that of range_of(factors[t]) on the values of one half.
  template <typename RangeOf>
  void add(const double* factors, int32_t half, double* errors, RangeOf&& range_of) const {
    QuantParams params[kTrials];
    for (int32_t t = 0; t < kTrials; ++t) params[t] = params_of(range_of(factors[t]), config_, non_negative_);
    double found[kTrials];
    quantization_errors(observer_, observer_.halves[half], config_, params, found, behind_);
    for (int32_t t = 0; t < kTrials; ++t) errors[t] += found[t];
  }
  template <typename RangeOf>
  void add_both(const double* factors, double* errors, RangeOf&& range_of) const {
    for (const int32_t half : {0, 1}) add(factors, half, errors, range_of);
  }

 private:
  const TensorObserver& observer_;
  const QuantConfig& config_;
  bool non_negative_;
  const FunctionBehind* behind_;
};

}  // namespace intaglio
