// An int8 model that is judged: its outputs beside those of the FP32 model, a sample at a time.
#pragma once

#include <vector>

#include "calibrator/calibration.h"
#include "calibrator/host/system/files.h"

namespace intaglio {

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
