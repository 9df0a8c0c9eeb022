// A batch normalization that nothing before it could take is a depthwise convolution with a 1 x 1 window.
#include <algorithm>
#include <cmath>

#include "importers/passes/passes.h"

namespace intaglio::importers {

namespace {

void add_depthwise(Draft& draft, const DraftNode& norm) {
  const auto gamma = values_of<float>(draft.tensor(norm.inputs[1]));
  const auto beta = values_of<float>(draft.tensor(norm.inputs[2]));
  const auto mean = values_of<float>(draft.tensor(norm.inputs[3]));
  const auto variance = values_of<float>(draft.tensor(norm.inputs[4]));
  std::vector<float> weights, bias;
  for (size_t c = 0; c < gamma.size(); ++c) {
    const double factor = gamma[c] / std::sqrt(double{variance[c]} + double{norm.epsilon});
    weights.push_back(static_cast<float>(factor));
    bias.push_back(static_cast<float>(beta[c] - mean[c] * factor));
  }
  const auto channels = static_cast<int32_t>(gamma.size());
  const std::string name = draft.tensor(norm.output()).name;
  const int32_t w = add_constant(draft, name + "/weights", DType::kF32, {1, 1, channels}, weights);
  const int32_t b = add_constant(draft, name + "/bias", DType::kF32, {channels}, bias);
  const Shape shape = draft.tensor(norm.input()).shape;
  if (shape.size() == 4) {
    add_node(draft, Op::kDepthwiseConv2d, norm.name, norm.source, {norm.input(), w, b}, norm.output());
    return;
  }
  const Shape pixel{shape[0], 1, 1, channels};  // a vector is a picture of one pixel
  const int32_t x = add_reshape(draft, name + "/pixel", norm.source, norm.input(), pixel);
  const int32_t y = add_activation_like(draft, name, norm.output(), pixel);
  add_node(draft, Op::kDepthwiseConv2d, norm.name, norm.source, {x, w, b}, y);
  add_node(draft, Op::kReshape, norm.name, norm.source, {y}, norm.output());
}

}  // namespace

bool replace_batch_norm(Draft& draft) {
  const auto is_replaced = [&](const DraftNode& node) {
    const size_t rank = draft.tensor(node.input()).shape.size();
    return node.op == kBatchNorm && (rank == 2 || rank == 4);
  };
  if (std::none_of(draft.nodes.begin(), draft.nodes.end(), is_replaced)) return false;
  std::deque<DraftNode> old;
  old.swap(draft.nodes);
  for (DraftNode& node : old) {
    if (is_replaced(node))
      add_depthwise(draft, node);
    else
      draft.nodes.push_back(std::move(node));
  }
  return true;
}

}  // namespace intaglio::importers
