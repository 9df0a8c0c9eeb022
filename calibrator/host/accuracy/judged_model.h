// What to expect of samples that were not measured, from the errors of some that were.
#pragma once

#include <vector>

#include "calibrator/calibration.h"
#include "calibrator/host/system/files.h"
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

// An int8 model that is judged: its outputs beside those of the FP32 model, a sample at a time.
class JudgedModel {
 public:
  // `bytes`: of a model that this calibration made. They outlive it.
  Error open(Span<const uint8_t> bytes, const CalibratorOptions& options, const Calibration& calibration);
  // Of the sample that stands in the inputs of the calibration's FP32 session: sums of squares of each output and of its
  // error. The FP32 network runs where its outputs are not `known`. Both sessions then hold the models' outputs.
  std::vector<NetworkError> errors(Calibration& calibration, const float* known);
  const Session& session() const { return session_; }

 private:
  struct Output {
    OutputTensor exact;
    int32_t tensor = -1, node = -1;  // of the int8 model
  };
  Model model_;
  FileBytes memory_;
  Session session_;
  std::vector<Output> outputs_;  // by ascending node
};

// Moves each picture in an FP32 session's inputs by a pixel to the left and upwards; its last row and column stay. It is
// hardly another picture, but all roundings are others: much of what a single sample shows is their chance.
void shift_pictures(const Session& session);

}  // namespace intaglio
