// Relu, Relu6, Clip go into the node before them, if nobody else reads that node's result.
#include "importers/draft/op_traits.h"
#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
bool fuse_clamp(Draft& draft) {
  bool changed = false;
  Links links(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    const DraftNode& clamp = draft.nodes[n];
    if (clamp.op != Op::kClamp || !links.single_use(clamp.input())) continue;
    const int32_t index = links.producer_of(clamp.input());
    if (index < 0) continue;
    DraftNode& node = draft.nodes[static_cast<size_t>(index)];
    // With another scale behind it, an int8 clamp is a requantization of its own.
    if (!traits(node.op).is(kTakesClamp) ||
        !draft.tensor(clamp.input()).same_quantization(draft.tensor(clamp.output())))
      continue;
    join_clamps(node.options.as<Clamp>(), clamp.options.as<Clamp>());
    take_over_output(draft, node, clamp.output());
    links.producer[static_cast<size_t>(clamp.output())] = index;
    draft.nodes[n].outputs.clear();  // dead
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
