#include "importers/passes/folding.h"

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

void take_over_output(Draft& draft, DraftNode& node, int32_t tensor) {
  for (DraftNormStatistics& statistics : draft.norm_statistics)
    if (statistics.tensor == node.output()) statistics.tensor = tensor;
  node.outputs[0] = tensor;
}

}  // namespace intaglio::importers
