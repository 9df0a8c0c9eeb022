#include "importers/passes/folding.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/op_traits.h"

namespace intaglio::importers {

bool has_float_weights(const Draft& draft, const DraftNode& node) {
  if (traits(node.op).int8 != Int8Form::kWeighted) return false;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (node.input(i) < 0) return false;
    const DraftTensor& tensor = draft.tensor(node.input(i));
    if (!tensor.constant || tensor.dtype != DType::kF32) return false;
  }
  return true;
}

int32_t output_channels(const Draft& draft, const DraftNode& node) {
  return draft.tensor(node.output()).shape.back();
}

ChannelWeights channel_weights(const Draft& draft, const DraftNode& node, int32_t channel) {
  const Shape& shape = draft.tensor(node.inputs[1]).shape;
  const auto total = static_cast<size_t>(elements(shape));
  const auto c = static_cast<size_t>(channel);
  if (node.op == Op::kDepthwiseConv2d) {  // [kh, kw, c]
    const auto channels = static_cast<size_t>(shape.back());
    return {c, channels, total / channels};
  }
  const size_t count = total / static_cast<size_t>(shape[0]);  // [oc, ...]
  return {c * count, 1, count};
}

bool has_clamp(const DraftNode& node) {
  const auto clamp = node.options.value<Clamp>();
  return clamp.min != -INFINITY || clamp.max != INFINITY || clamp.lo != -128 || clamp.hi != 127;
}

void join_clamps(Clamp& inner, const Clamp& outer) {
  inner.min = std::clamp(inner.min, outer.min, outer.max);
  inner.max = std::clamp(inner.max, outer.min, outer.max);
  inner.lo = std::clamp(inner.lo, outer.lo, outer.hi);
  inner.hi = std::clamp(inner.hi, outer.lo, outer.hi);
}

bool is_per_channel(const DraftTensor& constant, int32_t channels) {
  const int64_t count = elements(constant.shape);
  return constant.constant && constant.dtype == DType::kF32 &&
         (count == 1 || (count == channels && constant.shape.back() == channels));
}

void set_channels(Draft& draft, DraftNode& node, const std::vector<double>& factors,
                  const std::vector<float>& bias) {
  DraftTensor weights = draft.tensor(node.inputs[1]), biases = draft.tensor(node.inputs[2]);
  auto w = values_of<float>(weights);
  for (size_t c = 0; c < factors.size(); ++c) {
    const ChannelWeights channel = channel_weights(draft, node, static_cast<int32_t>(c));
    for (size_t i = 0; i < channel.count; ++i) {
      float& weight = w[channel.first + i * channel.step];
      weight = static_cast<float>(weight * factors[c]);
    }
  }
  set_values(weights, w);
  const int32_t axis = node.op == Op::kDepthwiseConv2d ? 2 : 0;
  const bool has_grid = !weights.scales.empty() && (weights.axis == -1 || weights.axis == axis);
  const std::vector<float> old_scales = weights.scales;
  weights.scales.clear();
  weights.axis = -1;
  for (size_t c = 0; has_grid && c < factors.size(); ++c) {
    const double scale = old_scales[old_scales.size() == 1 ? 0 : c];
    weights.scales.push_back(static_cast<float>(scale * std::fabs(factors[c])));
    weights.axis = factors.size() > 1 ? axis : -1;
  }
  set_values(biases, bias);
  draft.tensors.push_back(std::move(weights));
  node.inputs[1] = static_cast<int32_t>(draft.tensors.size()) - 1;
  draft.tensors.push_back(std::move(biases));
  node.inputs[2] = static_cast<int32_t>(draft.tensors.size()) - 1;
}

void take_over_output(Draft& draft, DraftNode& node, int32_t tensor) {
  for (DraftNormStatistics& statistics : draft.norm_statistics)
    if (statistics.tensor == node.output()) statistics.tensor = tensor;
  node.outputs[0] = tensor;
}

}  // namespace intaglio::importers
