// An operand that is repeated along an axis of size 1 (Expand, Tile) before an operator that repeats it
// itself goes in as it is.
#include <algorithm>

#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

bool repeats_operands(Op op) {
  return op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kDiv || op == Op::kMaximum ||
         op == Op::kMinimum;
}

}  // namespace

bool drop_repeats(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (!repeats_operands(node.op)) continue;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t index = links.producer_of(node.inputs[i]);
      if (index < 0 || draft.nodes[static_cast<size_t>(index)].op != Op::kGather) continue;
      const DraftNode& gather = draft.nodes[static_cast<size_t>(index)];
      const auto axis = static_cast<size_t>(gather.options.axis);
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
