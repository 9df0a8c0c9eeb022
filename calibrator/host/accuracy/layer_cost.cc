#include "calibrator/host/accuracy/layer_cost.h"

namespace intaglio {

int64_t macs_of(const Model& model, const NodeInfo& node) {
  if (node.op == Op::kBatchMatMul)
    return model.tensor(node.outputs[0]).shape.elements() * model.tensor(node.inputs[0]).shape.back(0);
  if (node.op != Op::kConv2d && node.op != Op::kDepthwiseConv2d && node.op != Op::kFullyConnected) return 0;
  const Shape output = model.tensor(node.outputs[0]).shape, weights = model.tensor(node.inputs[1]).shape;
  return output.elements() / output.back(0) * weights.elements();
}

}  // namespace intaglio
