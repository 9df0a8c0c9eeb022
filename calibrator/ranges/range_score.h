// Ranges scored by the squared error of what their codes make of the values seen.
#pragma once

#include "calibrator/ranges/ranges.h"

namespace intaglio {

inline Range scaled(const Range& range, double factor) { return {range.lo * factor, range.hi * factor}; }

// Parameters that are tried at once: their sums do not wait for each other.
inline constexpr int32_t kTrials = 4;

// errors[t]: sum of the squared errors of `histogram`'s values on the codes of `config` with params[t], each
// added up in the order of the bins. Both [kTrials]. With a function behind the tensor: of its value.
void quantization_errors(const TensorObserver& observer, const Histogram& histogram,
                         const QuantConfig& config, const QuantParams* params, double* errors,
                         const FunctionBehind* behind = nullptr);

// Squared errors of ranges with many codes on one histogram, nearly, from sums over its bins:
//
//   n0 e / 12     of the bin at zero, whose values are mostly what the code of zero stands for: e = 4 width^2, or step^2
//                 where a bin is no narrower than a step
//   step^2 / 12   of each other value between the ends: it may stand anywhere between two codes
//   (x - end)^2   of each value past an end, at the middle of its bin
//
// It takes no walk through the bins for each range, which is most of what a small device would compute.
class CountSums {
 public:
  CountSums() = default;
  CountSums(const TensorObserver& observer, const Histogram& histogram);
  double error(const QuantParams& params, const QuantConfig& config) const;

 private:
  // For bins: values, and their places and squares of places in widths from zero.
  struct Sums {
    double count = 0.0, places = 0.0, squares = 0.0;
  };
  static constexpr int32_t kBlock = 32;  // bins between two sums

  void add(Sums& sums, int32_t bin) const;
  Sums before(int32_t bin) const;
  // How many bins have their middle before a place.
  int32_t bins_before(double place) const;

  const uint32_t* counts_ = nullptr;
  double width_ = 1.0, at_zero_ = 0.0;
  int32_t zero_ = 0, bins_ = 0;
  Sums before_[kFineBins / kBlock + 1] = {};  // without the bin at zero
};

// Scores ranges on what one config makes of them.
class RangeScore {
 public:
  RangeScore(const TensorObserver& observer, const QuantConfig& config, bool non_negative,
             const FunctionBehind* behind);

  // Tries [first, last] / 32 times a range, some at once: `score` adds the error of each of kTrials factors to the sums it
  // is given, by add(). The least one is best, and of equal ones the narrowest. With many codes CountSums shows where it is,
  // and errors are compared there alone.
  template <typename Score>
  double best_factor(int32_t first, int32_t last, Score&& score) {
    if (by_sums_) {
      nearly_ = true;
      const int32_t near = best_of(first, last, score);
      nearly_ = false;
      first = near > first ? near - 1 : first;
      last = near + 2 < last ? near + 2 : last;
    }
    return best_of(first, last, score) / 32.0;
  }
  // errors[t] += that of range_of(factors[t]) on the values of one half.
  template <typename RangeOf>
  void add(const double* factors, int32_t half, double* errors, RangeOf&& range_of) const {
    QuantParams params[kTrials];
    for (int32_t t = 0; t < kTrials; ++t) params[t] = params_of(range_of(factors[t]), config_, non_negative_);
    add_errors(params, half, errors);
  }
  template <typename RangeOf>
  void add_both(const double* factors, double* errors, RangeOf&& range_of) const {
    for (int32_t half = 0; half < observer_.halves(); ++half) add(factors, half, errors, range_of);
  }

 private:
  template <typename Score>
  static int32_t best_of(int32_t first, int32_t last, Score&& score) {
    int32_t best = 32;
    double least = -1.0;
    for (int32_t i = first; i <= last; i += kTrials) {
      double factors[kTrials], errors[kTrials] = {};
      for (int32_t t = 0; t < kTrials; ++t) factors[t] = (i + t < last ? i + t : last) / 32.0;
      score(factors, errors);
      for (int32_t t = 0; t < kTrials && i + t <= last; ++t) {
        if (least >= 0.0 && errors[t] >= least) continue;
        least = errors[t];
        best = i + t;
      }
    }
    return best;
  }
  void add_errors(const QuantParams* params, int32_t half, double* errors) const;

  const TensorObserver& observer_;
  const QuantConfig& config_;
  bool non_negative_;
  const FunctionBehind* behind_;
  bool by_sums_, nearly_ = false;
  CountSums sums_[2];
};

}  // namespace intaglio
