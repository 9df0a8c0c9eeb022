// A depthwise convolution of one channel is an ordinary one, whose kernels take all of its output channels at once.
#include "importers/passes/passes.h"

namespace intaglio::importers {

bool replace_depthwise(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kDepthwiseConv2d || draft.tensor(node.input()).shape.back() != 1) continue;
    const DraftTensor& weights = draft.tensor(node.inputs[1]);  // [kh, kw, outputs]
    if (!weights.constant || weights.shape.size() != 3) continue;
    const Window2d window = node.options.as<Window2d>();
    const Clamp clamp = node.options.as<Clamp>();
    const int32_t turned = add_permuted_constant(draft, node.inputs[1], {2, 0, 1});
    draft.tensor(turned).shape.push_back(1);  // [outputs, kh, kw, 1]
    node.inputs[1] = turned;
    node.become(Op::kConv2d);
    node.options.as<Window2d>() = window;
    node.options.as<Clamp>() = clamp;
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
