// An int8 function of one value that could not be fused is a table: Relu and Relu6, Sigmoid, HardSwish,
// PRelu, ...
#include "importers/draft/quantized_tables.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

std::vector<int8_t> table_of(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kClamp) return unary_table(draft, node);
  const Clamp& clamp = node.options.as<Clamp>();
  return requantize_table(draft.tensor(node.input()), draft.tensor(node.output()), clamp.lo, clamp.hi);
}

}  // namespace

bool lower_to_lookup(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (draft.tensor(node.output()).dtype != DType::kS8 || node.inputs.empty() ||
        draft.tensor(node.input()).dtype != DType::kS8)
      continue;
    const std::vector<int8_t> table = table_of(draft, node);
    if (table.empty()) continue;
    const auto channels = static_cast<int32_t>(table.size() / 256);
    const std::string name = draft.tensor(node.output()).name + "/table";
    const Shape shape = channels == 1 ? Shape{256} : Shape{channels, 256};
    node.inputs = {node.input(), add_constant(draft, name, DType::kS8, shape, table)};
    node.become(Op::kLookup);
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
