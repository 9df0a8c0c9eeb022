// A function of one value on codes that could not be fused is a table: Relu and Relu6, Sigmoid, HardSwish,
// PRelu, ... Of 16 bits all but bounds, which are a Quantize.
#include "importers/draft/quantized_tables.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

std::vector<int8_t> table_of(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kClamp) return unary_table(draft, node);
  const Clamp& clamp = node.options.as<Clamp>();
  return requantize_table(draft.tensor(node.input()), draft.tensor(node.output()), clamp.lo, clamp.hi);
}

// Whether the node became a Lookup, or a Quantize, of codes of 16 bits.
bool lower_s16(Draft& draft, DraftNode& node) {
  if (node.op == Op::kClamp) {
    const Clamp codes = node.options.as<Clamp>();
    node.become(Op::kQuantize);
    node.options.as<Clamp>() = codes;
    return true;
  }
  const std::vector<int16_t> table = unary_table_s16(draft, node);
  if (table.empty()) return false;
  const auto entries = static_cast<int32_t>(table.size());
  node.inputs = {node.input(), add_constant(draft, draft.tensor(node.output()).name + "/table", DType::kS16,
                                            {entries}, table)};
  node.become(Op::kLookup);
  return true;
}

}  // namespace

bool lower_to_lookup(Draft& draft) {
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    const DType dtype = draft.tensor(node.output()).dtype;
    if (node.inputs.empty() || draft.tensor(node.input()).dtype != dtype) continue;
    if (dtype == DType::kS16) changed |= lower_s16(draft, node);
    if (dtype != DType::kS8) continue;
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
