// A LeakyRelu, or an Abs, of 16 bits is two straight lines. The table of a Lookup would bend where a line meets an end of the
// codes, and its entries are rounded. Each line is an exact operator that ends at 0, so their sum is exact, too.
#include <cmath>
#include <optional>

#include "importers/draft/quantized_tables.h"
#include "importers/passes/passes.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {
namespace {

// The factor below 0; above it is 1. None where the node is no such function, or where no scale is the factor.
std::optional<float> slope_below(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kLeakyRelu && node.op != Op::kAbs) return std::nullopt;
  for (const int32_t tensor : {node.input(), node.output()})
    if (draft.tensor(tensor).dtype != DType::kS16) return std::nullopt;
  const float slope = node.op == Op::kAbs ? -1.0f : node.options.as<UnaryOptions>().alpha;
  if (slope != 0.0f && !is_scale(std::fabs(slope))) return std::nullopt;
  return slope;
}

void set_ends(DraftNode& node, int32_t lo, int32_t hi) {
  node.options.as<Clamp>().lo = lo;
  node.options.as<Clamp>().hi = hi;
}

void add_lines(Draft& draft, const DraftNode& node, float slope) {
  const int32_t x = node.input(), y = node.output();
  const DraftTensor out = draft.tensor(y);
  const int32_t least = least_code(out), most = greatest_code(out);
  if (slope == 0.0f) return set_ends(add_node(draft, Op::kQuantize, node.name, node.source, {x}, y), 0, most);
  const int32_t above = add_activation_like(draft, out.name + "/above", y, out.shape),
                below = add_activation_like(draft, out.name + "/below", y, out.shape);
  set_ends(add_node(draft, Op::kQuantize, node.name + "/above", node.source, {x}, above), 0, most);
  // One code, whose scale is the slope's size.
  const bool turns = slope < 0.0f;
  const std::vector<int16_t> one{static_cast<int16_t>(turns ? -1 : 1)};
  const int32_t factor =
      add_constant(draft, out.name + "/slope", DType::kS16, Shape(out.shape.size(), 1), one);
  draft.tensor(factor).scales = {std::fabs(slope)};
  set_ends(add_node(draft, Op::kMul, node.name + "/below", node.source, {x, factor}, below),
           turns ? 0 : least, turns ? most : 0);
  set_ends(add_node(draft, Op::kAdd, node.name, node.source, {above, below}, y), least, most);
}

}  // namespace

bool split_leaky_relu(Draft& draft) {
  std::deque<DraftNode> old;
  old.swap(draft.nodes);
  bool changed = false;
  for (DraftNode& node : old) {
    const std::optional<float> slope = slope_below(draft, node);
    if (slope)
      add_lines(draft, node, *slope);
    else
      draft.nodes.push_back(std::move(node));
    changed |= slope.has_value();
  }
  return changed;
}

}  // namespace intaglio::importers
