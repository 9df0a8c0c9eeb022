// An int8 Relu or Relu6 that could not be fused is a table, like every function of one int8 value.
#include "importers/passes/passes.h"
#include "importers/quantized_tables.h"

namespace intaglio::importers {

bool tabulate_clamp(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kClamp || draft.tensor(node.output()).dtype != DType::kS8) continue;
    const auto table = requantize_table(draft.tensor(node.input()), draft.tensor(node.output()),
                                        node.clamp_lo, node.clamp_hi);
    const std::string name = draft.tensor(node.output()).name + "/table";
    node.inputs.push_back(add_constant(draft, name, DType::kS8, {256}, table));
    node.op = Op::kLookup;
    node.clamp_lo = -128;
    node.clamp_hi = 127;
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
