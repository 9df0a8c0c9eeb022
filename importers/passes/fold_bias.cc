// A constant added to each channel of a convolution's or fully connected node's result goes into its bias, also where a Reshape
// that leaves the channels last stands between them.
#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// The node itself; of a Reshape that keeps the last axis who writes its input for it alone; -1: nobody.
int32_t behind_reshape(const Draft& draft, const Links& links, int32_t index) {
  const DraftNode& node = draft.nodes[static_cast<size_t>(index)];
  if (node.op != Op::kReshape) return index;
  const bool keeps = draft.tensor(node.input()).shape.back() == draft.tensor(node.output()).shape.back();
  return keeps && links.single_use(node.input()) ? links.producer_of(node.input()) : -1;
}

}  // namespace

bool fold_bias(Draft& draft) {
  bool changed = false;
  Links links(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const DraftNode add = draft.nodes[n];
    if (add.op != Op::kAdd) continue;
    const int32_t constant = draft.tensor(add.inputs[0]).constant ? 0 : 1;
    const int32_t x = add.inputs[static_cast<size_t>(1 - constant)];
    const int32_t last = links.producer_of(x);
    if (last < 0 || !links.single_use(x)) continue;
    const int32_t index = behind_reshape(draft, links, last);
    if (index < 0) continue;
    DraftNode& node = draft.nodes[static_cast<size_t>(index)];
    const DraftTensor& addend = draft.tensor(add.inputs[static_cast<size_t>(constant)]);
    if (!has_float_weights(draft, node) || has_clamp(node) || has_clamp(add) ||
        draft.tensor(add.output()).shape != draft.tensor(x).shape ||
        !is_per_channel(addend, output_channels(draft, node)))
      continue;
    DraftTensor bias = draft.tensor(node.inputs[2]);
    auto b = values_of<float>(bias);
    const auto a = values_of<float>(addend);
    for (size_t c = 0; c < b.size(); ++c) b[c] += a[a.size() == 1 ? 0 : c];
    set_values(bias, b);
    draft.tensors.push_back(std::move(bias));
    node.inputs[2] = static_cast<int32_t>(draft.tensors.size()) - 1;
    take_over_output(draft, draft.nodes[static_cast<size_t>(last)], add.output());
    links.producer[static_cast<size_t>(add.output())] = last;
    draft.nodes[n].outputs.clear();  // dead
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
