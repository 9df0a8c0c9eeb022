// The error of the whole int8 model: its outputs beside those of the FP32 model, over samples.
#pragma once

#include "calibrator/evaluate.h"
#include "calibrator/int8_model.h"
#include "calibrator/order_free_sum.h"
#include "calibrator/replay.h"

namespace intaglio {

class NetworkErrorMeter {
 public:
  // `arena` keeps a few words for each output.
  NetworkErrorMeter(CalibratorMemory& memory, Arena& arena);

  // Starts a measurement of this model, which outlives it.
  void start(Int8Model& int8);
  // Runs sample `i`; the FP32 model only where its outputs are not known.
  Error add(Replay& samples, int32_t i);
  // Does not depend on the order of the samples.
  NetworkError total() const;

 private:
  struct Output {
    OutputTensor exact;
    int32_t tensor = -1, node = -1;  // of the int8 model
    OrderFreeSum signal, noise;
  };

  const float* exact_values(Replay& samples, int32_t i);

  CalibratorMemory* memory_;
  Span<Output> outputs_;  // by ascending node of the int8 model
  Session* int8_ = nullptr;
};

}  // namespace intaglio
