// Transpose that moves nothing becomes Reshape; Reshape of Reshape becomes one; Reshape to the same shape
// goes.
#include "importers/passes/passes.h"

namespace intaglio::importers {

bool simplify_reshapes(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kTranspose ||
        !moves_no_data(draft.tensor(node.input()).shape,
                       to_vector(node.options.as<TransposeOptions>().permutation)))
      continue;
    node.become(Op::kReshape);
    changed = true;
  }
  std::vector<int32_t> source(draft.tensors.size(), -1);  // of a Reshape's output: what it reads
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kReshape) continue;
    int32_t& input = node.inputs[0];
    if (source[static_cast<size_t>(input)] >= 0) {
      input = source[static_cast<size_t>(input)];
      changed = true;
    }
    source[static_cast<size_t>(node.output())] = input;
  }
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const DraftNode& node = draft.nodes[n];
    if (node.op != Op::kReshape) continue;
    const int32_t input = node.input(), output = node.output();
    if (draft.tensor(input).shape != draft.tensor(output).shape || !replace_tensor(draft, output, input))
      continue;
    draft.nodes.erase(draft.nodes.begin() + static_cast<std::ptrdiff_t>(n--));
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
