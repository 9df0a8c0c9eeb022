// Which layers get 16 bits or stay in FP32: those that take most of the error away for what they cost.
//
// Errors add up, since roundings hardly know of each other: the outputs' error is the sum of the own errors
// of the int8 layers and of the output errors of the tensors that are int8 somewhere, which is where the
// layer that writes them or one that reads them is int8. So FP32 layers side by side gain more than the same ones
// apart. A layer that writes 16 bits hardly rounds its output, and keeps its own error: weights have 8 bits still.
#pragma once

#include <vector>

#include "calibrator/host/accuracy/layer_sensitivity.h"

namespace intaglio {

// The type in which a layer computes, by its output.
enum class LayerType : uint8_t { kInt8, kInt16, kFloat };
using LayerTypes = std::vector<LayerType>;  // one a layer

class FloatLayers {
 public:
  // As measured; `input_error` that of the model's inputs. has_fpu: of the machine that will run it; without one FP32 costs so
  // much that 16 bits come first wherever they help.
  FloatLayers(std::vector<LayerSensitivity> layers, double input_error, bool has_fpu = true);

  // Layers to get 16 bits or to stay in FP32, so that the error is no more than `error`, at little cost: stretch
  // by stretch, each the one that takes most for what it costs, the last one the cheapest that does; without
  // those that are not needed in the end. The cheapest of three such ways: from 8 bits, from 16 wherever they may be,
  // and from these with FP32 from the network's end. Where none does, the first of all_but_one().
  LayerTypes choose(double error) const;
  // All in FP32 but one layer with weights, of 8 bits or of 16, that which adds least first: with all in FP32 nothing
  // would be left of the int8 model.
  std::vector<LayerTypes> all_but_one() const;

  // For the network with these types of layers.
  double error(const LayerTypes& types) const;
  // The added cost, as shares of the int8 model's own time and of its weights' bytes.
  struct Cost {
    double time = 0.0, bytes = 0.0;
    double total() const { return time + bytes; }
  };
  Cost cost(const LayerTypes& types) const;
  LayerTypes types_at_first() const;
  LayerTypes widest() const;  // with 16 bits wherever they may be

  // Scales the layers' errors, so that those of the first and of the widest model are what was measured: it tells the
  // errors of weights, which 16 bits leave, better from those of rounding than layers apart do.
  void fit(double first, double wide);

  const std::vector<LayerSensitivity>& layers() const { return layers_; }

 private:
  LayerTypes chosen_from(LayerTypes now, double wanted) const;
  LayerTypes float_from_end(double wanted) const;
  bool gives_wide(const LayerTypes& types, int32_t layer) const;
  LayerTypes stretched(const LayerTypes& now, double wanted) const;
  void drop_needless(LayerTypes& types, double wanted) const;
  double time_of(const LayerTypes& types, size_t layer) const;

  std::vector<LayerSensitivity> layers_;
  double input_error_;
  std::vector<std::vector<int32_t>> readers_;  // of each layer's output
  std::vector<int32_t> input_readers_;
  double float_mac_, float_element_;
  double total_time_ = 0.0, total_bytes_ = 0.0;
};

}  // namespace intaglio
