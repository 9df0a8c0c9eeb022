// A model input in NCHW that is transposed at once becomes an NHWC input: pictures come in as they are.
#include <algorithm>

#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

bool goes_to_nhwc(const DraftNode& node, int32_t input) {
  return node.op == Op::kTranspose && node.input() == input && node.axes == kToNhwc;
}

}  // namespace

bool make_inputs_nhwc(Draft& draft) {
  bool changed = false;
  for (const int32_t input : draft.inputs) {
    const auto goes = [&](const DraftNode& node) { return goes_to_nhwc(node, input); };
    if (std::none_of(draft.nodes.begin(), draft.nodes.end(), goes)) continue;
    const Shape nchw = draft.tensor(input).shape;
    const Shape nhwc = permuted(nchw, kToNhwc);
    // Whoever reads the input as it was gets it transposed back.
    int32_t back = -1;
    for (DraftNode& node : draft.nodes) {
      if (goes(node)) {
        node.op = Op::kReshape;  // to the shape it has: simplify_reshapes removes it
        node.axes.clear();
        continue;
      }
      for (int32_t& read : node.inputs) {
        if (read != input) continue;
        if (back < 0) back = add_activation_like(draft, draft.tensor(input).name, input, nchw);
        read = back;
      }
    }
    draft.tensor(input).shape = nhwc;
    if (back >= 0) {
      DraftNode& node = add_node(draft, Op::kTranspose, draft.tensor(input).name, "Transpose", {input}, back);
      node.axes = kToNchw;
      std::rotate(draft.nodes.begin(), draft.nodes.end() - 1, draft.nodes.end());
    }
    draft.notes.push_back(text("input ", quoted(draft.tensor(input).name), " is taken as NHWC ", shape_text(nhwc),
                               "; in the file it is NCHW ", shape_text(nchw)));
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
