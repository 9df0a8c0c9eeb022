// A tensor that each of its readers quantizes for itself, all in one way, is quantized once.
#include "importers/passes/passes.h"

namespace intaglio::importers {

bool merge_quantizers(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (const DraftNode& node : draft.nodes) {
    if (node.op != Op::kQuantize) continue;
    for (const int32_t index : links.consumers_of(node.input())) {
      const DraftNode& other = draft.nodes[static_cast<size_t>(index)];
      if (&other == &node) break;  // the first of them stays
      if (other.op != Op::kQuantize ||
          !draft.tensor(other.output()).same_quantization(draft.tensor(node.output())))
        continue;
      changed |= replace_tensor(draft, node.output(), other.output());
      break;
    }
  }
  return changed;
}

}  // namespace intaglio::importers
