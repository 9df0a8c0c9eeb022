// The last layer or mean of a quantized network, whose result the file leaves in FP32: it reads codes, and its int32
// sums become FP32 without a rounding between them.
#include <cmath>

#include "importers/passes/folding.h"
#include "importers/passes/passes.h"
#include "importers/passes/quantize_weights.h"

namespace intaglio::importers {
namespace {

bool is_one_place(const Shape& shape) { return elements(shape) == int64_t{shape[0]} * shape.back(); }

// The window is the whole picture, and nothing but it.
bool is_whole_map(const DraftNode& node, const Shape& in) {
  const Window2d& window = node.options.as<Window2d>();
  return in.size() == 4 && window.kernel_h == in[1] && window.kernel_w == in[2] && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0;
}

bool read_codes(Draft& draft, DraftNode& node, int32_t codes) {
  const Shape in = draft.tensor(node.input()).shape;
  if (has_clamp(node) || !is_one_place(draft.tensor(node.output()).shape)) return false;
  switch (node.op) {
    case Op::kConv2d: {  // of one tap on a map of one place: a matrix product
      if (!is_whole_map(node, in) || !is_one_place(in) || node.inputs.size() > 3 ||
          node.options.as<Conv2dOptions>().groups > 1 || !quantize_weights(draft, node, codes))
        return false;
      DraftTensor& weights = draft.tensor(node.inputs[1]);
      weights.shape = {weights.shape[0], weights.shape[3]};
      node.become(Op::kFullyConnected);
      break;
    }
    case Op::kFullyConnected:
      if (!quantize_weights(draft, node, codes)) return false;
      break;
    case Op::kAvgPool2d:
      if (!is_whole_map(node, in)) return false;
      node.become(Op::kMean);
      node.options.as<ReduceOptions>().axes = draft.list({1, 2});
      break;
    case Op::kMean:
      break;
    default:
      return false;
  }
  node.inputs[0] = codes;
  return true;
}

}  // namespace

bool quantize_answers(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.input() < 0 || draft.tensor(node.output()).dtype != DType::kF32) continue;
    const int32_t border = links.producer_of(node.input());
    if (border < 0 || draft.nodes[static_cast<size_t>(border)].op != Op::kDequantize ||
        draft.tensor(draft.nodes[static_cast<size_t>(border)].input()).dtype != DType::kS8)
      continue;
    bool is_rounded = false;  // then it is quantize_nodes' business
    for (const int32_t reader : links.consumers_of(node.output()))
      is_rounded |= draft.nodes[static_cast<size_t>(reader)].op == Op::kQuantize;
    if (!is_rounded) changed |= read_codes(draft, node, draft.nodes[static_cast<size_t>(border)].input());
  }
  return changed;
}

}  // namespace intaglio::importers
