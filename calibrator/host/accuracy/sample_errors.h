// What to expect of samples that were not measured, from the errors of some that were.
#pragma once

#include <vector>

#include "calibrator/judge/evaluate.h"

namespace intaglio {

// Of the same outputs over some samples.
class SampleErrors {
 public:
  // Of one sample: sums of squares of the FP32 values and of the differences, an output each.
  void add(const std::vector<NetworkError>& outputs);
  size_t samples() const { return samples_.size(); }
  // As in CalibrationReport, of what is to be expected of other samples: few samples seldom show the rare ones
  // that lose most, so noise is at least the mean of a log-normal distribution with the logarithms' own mean and their
  // spread, drawn to a usual one. Where the mean of each sample's own noise over signal is worse, it is half way (in
  // logarithms) to that. All this adds 6 dB at most, and less so with more than 16 samples.
  NetworkError expected() const;

 private:
  std::vector<std::vector<NetworkError>> samples_;
};

}  // namespace intaglio
