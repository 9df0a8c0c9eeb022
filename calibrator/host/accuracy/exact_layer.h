// A layer with weights in exact products: integers where its codes are linear, whatever their bits.
//
//   y[o] = s_in s_w[o] (sum (x - z_in) (w - z_w[o]) + R(b[o] / (s_in s_w[o])))
//
// with the fused activation's ends. Padded taps count as zero.
#pragma once

#include <vector>

#include "calibrator/quantization/quantizer.h"
#include "calibrator/recover/weights/layer_weights.h"

namespace intaglio {

class ExactLayer {
 public:
  // Quantizes the weights of node `n` by `weights`, its bias by their rounding.
  ExactLayer(const Model& model, int32_t n, const QuantConfig& input, const QuantConfig& weights);

  // Real outputs, from the input's codes.
  std::vector<double> run(const std::vector<int64_t>& codes) const;
  const std::vector<int64_t>& weight_codes() const { return codes_; }
  const QuantParams& weight_params(int32_t output) const { return params_[static_cast<size_t>(output)]; }

 private:
  struct Row {  // of one output at one position: taps that lie inside, as indices of input and weight
    std::vector<size_t> inputs, weights;
  };
  void quantize_weights(Span<const float> reals);
  void take_patch(int64_t position, int32_t group, Row& row) const;
  double product(const std::vector<int64_t>& codes, const Row& row, int32_t output) const;

  const Model& model_;
  NodeInfo node_;
  LayerMatrix matrix_;
  QuantConfig input_, weights_;
  QuantParams in_params_;
  std::vector<int64_t> codes_;       // of the weights, in their layout
  std::vector<QuantParams> params_;  // of each output's weights
  std::vector<double> bias_;         // as its code gives it
};

}  // namespace intaglio
