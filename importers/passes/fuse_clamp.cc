// Relu, Relu6, Clip go into the node before them, if nobody else reads that node's result.
#include <algorithm>

#include "importers/draft/op_traits.h"
#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// clamp(clamp(x, a, b), c, d) is one clamp: to a and b, each brought into [c, d].
void join(DraftNode& node, const DraftNode& clamp) {
  node.options.clamp_min =
      std::clamp(node.options.clamp_min, clamp.options.clamp_min, clamp.options.clamp_max);
  node.options.clamp_max =
      std::clamp(node.options.clamp_max, clamp.options.clamp_min, clamp.options.clamp_max);
  node.options.clamp_lo = std::clamp(node.options.clamp_lo, clamp.options.clamp_lo, clamp.options.clamp_hi);
  node.options.clamp_hi = std::clamp(node.options.clamp_hi, clamp.options.clamp_lo, clamp.options.clamp_hi);
}

}  // namespace

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
    join(node, clamp);
    take_over_output(draft, node, clamp.output());
    links.producer[static_cast<size_t>(clamp.output())] = index;
    draft.nodes[n].outputs.clear();  // dead
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
