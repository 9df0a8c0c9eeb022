// An operand that is repeated along an axis of size 1 (Expand, Tile) before an operator that repeats it
// itself goes in as it is.
#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
bool drop_repeats(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (!traits(node.op).is(kBroadcasts)) continue;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t index = links.producer_of(node.inputs[i]);
      if (index < 0 || draft.nodes[static_cast<size_t>(index)].op != Op::kGather) continue;
      const DraftNode& gather = draft.nodes[static_cast<size_t>(index)];
      const auto axis = static_cast<size_t>(gather.options.as<GatherOptions>().axis);
      const Shape& other = draft.tensor(node.inputs[1 - i]).shape;
      const Shape& repeated = draft.tensor(gather.output()).shape;
      if (draft.tensor(gather.input()).shape[axis] != 1 || other.size() != repeated.size() ||
          other[axis] != repeated[axis])
        continue;
      node.inputs[i] = gather.input();
      changed = true;
    }
  }
  return changed;
}

}  // namespace intaglio::importers
