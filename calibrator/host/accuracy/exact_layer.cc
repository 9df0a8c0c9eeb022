#include "calibrator/host/accuracy/exact_layer.h"

#include "calibrator/quantization/quantizer.h"
#include "runtime/op.h"
#include "runtime/op_search.h"
#include "runtime/window.h"

namespace intaglio {
namespace {

Span<const float> reals_of(const TensorInfo& info) {
  return {reinterpret_cast<const float*>(info.constant.data), info.constant.size / sizeof(float)};
}

// Products of up to 64 bits each, summed without overflow for any layer that fits in memory.
class WideSum {
 public:
  void add(int64_t a, int64_t b) {  // |a|, |b| < 2^33
    high_ += (a >> 16) * b;
    low_ += (a & 0xffff) * b;
  }
  double value() const { return static_cast<double>(high_) * 65536.0 + static_cast<double>(low_); }

 private:
  int64_t high_ = 0, low_ = 0;
};

}  // namespace

ExactLayer::ExactLayer(const Model& model, int32_t n, const QuantConfig& input, const QuantConfig& weights)
    : model_(model),
      node_(model.node(n)),
      matrix_(layer_matrix(model, node_)),
      input_(input),
      weights_(weights),
      in_params_{input.scale, input.offset, input.lo, input.hi} {
  const QuantRule& rule = find_op(float_ops(), model, node_)->quant;
  const auto bias = static_cast<size_t>(rule.bias_input);
  quantize_weights(reals_of(model.tensor(node_.inputs[static_cast<size_t>(rule.weight_input)])));
  bias_.assign(static_cast<size_t>(matrix_.outputs()), 0.0);
  if (bias >= node_.inputs.size || node_.inputs[bias] < 0) return;
  const Span<const float> biases = reals_of(model.tensor(node_.inputs[bias]));
  for (size_t o = 0; o < bias_.size(); ++o) {
    const double step = static_cast<double>(input.scale) * static_cast<double>(params_[o].scale);
    bias_[o] = round_by(weights.rounding, static_cast<double>(biases[o]) / step) * step;
  }
}

void ExactLayer::quantize_weights(Span<const float> reals) {
  const auto depth = static_cast<size_t>(matrix_.depth());
  std::vector<Range> ranges(static_cast<size_t>(matrix_.outputs()));
  Range all;
  for (size_t o = 0; o < ranges.size(); ++o) {
    for (size_t k = 0; k < depth; ++k) {
      const auto w = static_cast<double>(reals[matrix_.first(static_cast<int32_t>(o)) + k * matrix_.stride]);
      ranges[o] = {w < ranges[o].lo ? w : ranges[o].lo, w > ranges[o].hi ? w : ranges[o].hi};
    }
    all = {ranges[o].lo < all.lo ? ranges[o].lo : all.lo, ranges[o].hi > all.hi ? ranges[o].hi : all.hi};
  }
  codes_.resize(reals.size);
  for (size_t o = 0; o < ranges.size(); ++o) {
    params_.push_back(params_of(weights_.has(policy::kPerTensor) ? all : ranges[o], weights_));
    for (size_t k = 0; k < depth; ++k) {
      const size_t at = matrix_.first(static_cast<int32_t>(o)) + k * matrix_.stride;
      codes_[at] = quantize_real(static_cast<double>(reals[at]), weights_, params_[o]);
    }
  }
}

void ExactLayer::take_patch(int64_t position, int32_t group, Row& row) const {
  row.inputs.clear();
  row.weights.clear();
  const Shape in = model_.tensor(node_.inputs[0]).shape;
  const auto channels = static_cast<size_t>(matrix_.channels);
  if (model_.tensor(node_.inputs[1]).shape.rank == 2) {
    for (size_t k = 0; k < channels; ++k) {
      row.inputs.push_back(static_cast<size_t>(position) * channels + k);
      row.weights.push_back(k);
    }
    return;
  }
  const Window2d& window = node_.options.as<Window2d>();
  const Shape out = model_.tensor(node_.outputs[0]).shape;
  const auto x_out = static_cast<int32_t>(position % out[2]),
             y_out = static_cast<int32_t>(position / out[2] % out[1]);
  const int64_t batch = position / out[2] / out[1];
  for (int32_t ky = 0; ky < window.kernel_h; ++ky)
    for (int32_t kx = 0; kx < window.kernel_w; ++kx) {
      const int32_t y = input_y(window, y_out, ky), x = input_x(window, x_out, kx);
      if (y < 0 || y >= in[1] || x < 0 || x >= in[2]) continue;
      const auto pixel = static_cast<size_t>(((batch * in[1] + y) * in[2] + x) * in[3]);
      const auto tap = static_cast<size_t>(ky * window.kernel_w + kx);
      for (size_t c = 0; c < channels; ++c) {
        row.inputs.push_back(pixel + static_cast<size_t>(group) * channels + c);
        row.weights.push_back((tap * channels + c) * matrix_.stride);
      }
    }
}

double ExactLayer::product(const std::vector<int64_t>& codes, const Row& row, int32_t output) const {
  const QuantParams& params = params_[static_cast<size_t>(output)];
  const size_t first = matrix_.first(output);
  if (input_.has(policy::kExponential) || weights_.has(policy::kExponential)) {
    double sum = 0.0;
    for (size_t i = 0; i < row.inputs.size(); ++i)
      sum += real_of_code(codes[row.inputs[i]], input_, in_params_) *
             real_of_code(codes_[first + row.weights[i]], weights_, params);
    return sum;
  }
  WideSum sum;
  for (size_t i = 0; i < row.inputs.size(); ++i)
    sum.add(codes[row.inputs[i]] - in_params_.zero_point, codes_[first + row.weights[i]] - params.zero_point);
  return sum.value() * (static_cast<double>(in_params_.scale) * static_cast<double>(params.scale));
}

std::vector<double> ExactLayer::run(const std::vector<int64_t>& codes) const {
  const int64_t positions = layer_positions(model_, node_);
  const auto outputs = static_cast<size_t>(matrix_.outputs());
  const auto clamp = node_.options.value<Clamp>();
  const auto lo = static_cast<double>(clamp.min), hi = static_cast<double>(clamp.max);
  std::vector<double> values(static_cast<size_t>(positions) * outputs);
  Row row;
  for (int64_t p = 0; p < positions; ++p)
    for (int32_t g = 0; g < matrix_.groups; ++g) {
      take_patch(p, g, row);
      for (int32_t r = 0; r < matrix_.rows; ++r) {
        const int32_t o = g * matrix_.rows + r;
        const double y = product(codes, row, o) + bias_[static_cast<size_t>(o)];
        values[static_cast<size_t>(p) * outputs + static_cast<size_t>(o)] = y < lo ? lo : (y > hi ? hi : y);
      }
    }
  return values;
}

}  // namespace intaglio
