// A batch normalization that nothing before it could take is a depthwise convolution with a 1 x 1 window.
#include <cmath>

#include "importers/passes/passes.h"

namespace intaglio::importers {

bool replace_batch_norm(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != kBatchNorm || draft.tensor(node.input()).shape.size() != 4) continue;
    const auto gamma = values_of<float>(draft.tensor(node.inputs[1]));
    const auto beta = values_of<float>(draft.tensor(node.inputs[2]));
    const auto mean = values_of<float>(draft.tensor(node.inputs[3]));
    const auto variance = values_of<float>(draft.tensor(node.inputs[4]));
    std::vector<float> weights, bias;
    for (size_t c = 0; c < gamma.size(); ++c) {
      const double factor = gamma[c] / std::sqrt(double{variance[c]} + double{node.epsilon});
      weights.push_back(static_cast<float>(factor));
      bias.push_back(static_cast<float>(beta[c] - mean[c] * factor));
    }
    const auto channels = static_cast<int32_t>(gamma.size());
    const std::string name = draft.tensor(node.output()).name;
    const int32_t w = add_constant(draft, name + "/weights", DType::kF32, {1, 1, channels}, weights);
    const int32_t b = add_constant(draft, name + "/bias", DType::kF32, {channels}, bias);
    node.become(Op::kDepthwiseConv2d);
    node.inputs = {node.input(), w, b};
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
