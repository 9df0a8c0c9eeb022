// A constant added to each channel of a convolution's or fully connected node's result goes into its bias.
#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
bool fold_bias(Draft& draft) {
  bool changed = false;
  Links links(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const DraftNode add = draft.nodes[n];
    if (add.op != Op::kAdd) continue;
    const int32_t constant = draft.tensor(add.inputs[0]).constant ? 0 : 1;
    const int32_t x = add.inputs[static_cast<size_t>(1 - constant)];
    const int32_t index = links.producer_of(x);
    if (index < 0 || !links.single_use(x)) continue;
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
    take_over_output(draft, node, add.output());
    links.producer[static_cast<size_t>(add.output())] = index;
    draft.nodes[n].outputs.clear();  // dead
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
