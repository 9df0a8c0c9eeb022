// Which layers to keep in FP32: those that take most of the error away for what they cost.
//
// Errors add up, since roundings hardly know of each other: the outputs' error is the sum of the own errors
// of the int8 layers and of the output errors of the tensors that are int8 somewhere, which is where the
// layer that writes them or one that reads them is int8. So layers side by side gain more than the same ones
// apart.
#pragma once

#include <vector>

#include "calibrator/host/accuracy/layer_sensitivity.h"

namespace intaglio {

class FloatLayers {
 public:
  // As measured; `input_error` that of the model's inputs.
  FloatLayers(std::vector<LayerSensitivity> layers, double input_error);

  // Layers to keep in FP32, a flag each, so that the error is no more than `error`, at little cost: stretch
  // by stretch, each the one that takes most for what it costs, the last one the cheapest that does; without
  // those that are not needed in the end. Where nothing does, the first of all_but_one().
  std::vector<bool> choose(double error) const;
  // All but one layer with weights, that which adds least first: with all in FP32 nothing would be left of
  // the int8 model.
  std::vector<std::vector<bool>> all_but_one() const;

  // Of the network with these layers in FP32, beside those that are anyway.
  double error(const std::vector<bool>& is_float) const;
  // What FP32 adds, as shares of the int8 model's own time and of its weights' bytes.
  struct Cost {
    double time = 0.0, bytes = 0.0;
    double total() const { return time + bytes; }
  };
  Cost cost(const std::vector<bool>& is_float) const;
  std::vector<bool> floats_at_first() const;

  const std::vector<LayerSensitivity>& layers() const { return layers_; }

 private:
  void drop_needless(std::vector<bool>& is_float, double wanted) const;

  std::vector<LayerSensitivity> layers_;
  double input_error_;
  std::vector<std::vector<int32_t>> readers_;  // of each layer's output
  std::vector<int32_t> input_readers_;
  double total_time_ = 0.0, total_bytes_ = 0.0;
};

}  // namespace intaglio
