// Functions of one variable as tables of 256 codes.
#include <algorithm>
#include <numeric>
#include <optional>

#include "importers/draft/constant_evaluation.h"
#include "importers/draft/op_traits.h"
#include "importers/draft/quantized_tables.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {

// A function of one value on codes that could not be fused is a table: Relu and Relu6, Sigmoid, HardSwish,
// PRelu, ... Of 16 bits all but bounds, which are a Quantize.

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

// Int8 nodes that together compute a function of one tensor of codes are one table: x * sigmoid(x), a bound behind an
// addition of a constant, FP32 functions between Dequantize and Quantize. Its entries are what the nodes themselves give.

namespace {

constexpr int32_t kNone = -1;
constexpr int32_t kCodes = 256;
// Each round looks again behind tensors that had to stay. What more rounds would find is rare.
constexpr int kRounds = 4;

bool is_elementwise(Op op) {
  const OpTraits& row = traits(op);
  return op == Op::kLookup || op == Op::kQuantize || op == Op::kDequantize ||
         (row.int8 == Int8Form::kRescales && row.axes == Axes::kAny) || row.int8 == Int8Form::kArithmetic ||
         row.int8 == Int8Form::kCompares;
}

// The same number for each element, or the table of a Lookup that all channels share.
bool is_uniform(const DraftTensor& tensor, const DraftNode& node) {
  return tensor.constant && elements(tensor.shape) == (node.op == Op::kLookup ? kCodes : 1);
}

// For each tensor the one tensor of codes that it is a function of.
class Sources {
 public:
  explicit Sources(const Draft& draft)
      : draft_(draft), links_(draft), source_(draft.tensors.size(), kNone), stays_(links_.is_output) {
    for (int round = 0; round < kRounds; ++round) {
      find();
      if (!keep_what_others_read()) break;
    }
  }

  // The nodes of `top` and behind it down to its source, in order; empty where there is nothing to join.
  std::vector<int32_t> cone(int32_t top) const {
    const DraftNode& node = node_at(top);
    if (source(node.output()) == kNone || draft_.tensor(node.output()).dtype != DType::kS8) return {};
    std::vector<int32_t> nodes{top};
    for (size_t i = 0; i < nodes.size(); ++i)
      for (const int32_t input : node_at(nodes[i]).inputs)
        if (is_inside(input)) add_once(nodes, links_.producer_of(input));
    std::sort(nodes.begin(), nodes.end());
    const bool is_closed = std::all_of(nodes.begin(), nodes.end(), [&](int32_t inner) {
      const auto& readers = links_.consumers_of(node_at(inner).output());
      return inner == top || std::all_of(readers.begin(), readers.end(), [&](int32_t reader) {
               return std::binary_search(nodes.begin(), nodes.end(), reader);
             });
    });
    if (!is_closed || (nodes.size() == 1 && node.op == Op::kLookup)) return {};
    return nodes;
  }

  int32_t source(int32_t tensor) const { return source_[static_cast<size_t>(tensor)]; }

 private:
  const DraftNode& node_at(int32_t node) const { return draft_.node(node); }

  static void add_once(std::vector<int32_t>& nodes, int32_t node) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }

  // Whether readers see through it to its source.
  bool is_inside(int32_t tensor) const {
    return tensor >= 0 && source(tensor) != kNone && !stays_[static_cast<size_t>(tensor)];
  }

  void find() {
    std::fill(source_.begin(), source_.end(), kNone);
    for (const DraftNode& node : draft_.nodes)
      if (node.outputs.size() == 1 && is_elementwise(node.op))
        source_[static_cast<size_t>(node.output())] = source_of(node);
  }

  int32_t source_of(const DraftNode& node) const {
    int32_t found = kNone;
    for (const int32_t input : node.inputs) {
      if (input < 0) return kNone;
      const DraftTensor& tensor = draft_.tensor(input);
      if (is_uniform(tensor, node)) continue;
      if (tensor.constant || tensor.shape != draft_.tensor(node.output()).shape) return kNone;
      const bool is_source = tensor.dtype == DType::kS8 && tensor.scales.size() == 1;
      const int32_t own = is_inside(input) ? source(input) : is_source ? input : kNone;
      if (own == kNone || (found != kNone && own != found)) return kNone;
      found = own;
    }
    return found;
  }

  // Keeps what a node reads that joins no table: one of another source, or of reals that leave. Whether it kept more.
  bool keep_what_others_read() {
    bool any = false;
    for (const DraftNode& node : draft_.nodes)
      for (const int32_t input : node.inputs)
        if (is_inside(input) && !joins(node, source(input))) stays_[static_cast<size_t>(input)] = any = true;
    return any;
  }

  bool joins(const DraftNode& node, int32_t from) const {
    if (node.outputs.size() != 1 || source(node.output()) != from) return false;
    return is_inside(node.output()) || draft_.tensor(node.output()).dtype == DType::kS8;
  }

  const Draft& draft_;
  const Links links_;
  std::vector<int32_t> source_;
  std::vector<bool> stays_;
};

// The result of the nodes for each code of the source; none where the runtime refuses them, which it says by name later.
std::optional<std::vector<int8_t>> table_values(Draft& draft, const std::vector<int32_t>& cone,
                                                int32_t source) {
  Evaluation evaluation(draft);
  DraftTensor codes = draft.tensor(source);
  std::fill(codes.shape.begin(), codes.shape.end(), 1);
  codes.shape.back() = kCodes;
  std::vector<int8_t> all(kCodes);
  std::iota(all.begin(), all.end(), int8_t{-128});
  set_values(codes, all);
  const Shape shape = codes.shape;
  std::vector<int32_t> made(draft.tensors.size(), kNone);
  made[static_cast<size_t>(source)] = evaluation.input(std::move(codes));
  for (const int32_t inner : cone) {
    DraftNode node = draft.node(inner);
    for (int32_t& input : node.inputs)
      if (made[static_cast<size_t>(input)] != kNone) input = made[static_cast<size_t>(input)];
    const int32_t copy = add_activation_like(draft, node.name, node.output(), shape);
    made[static_cast<size_t>(node.output())] = copy;
    node.outputs = {copy};
    draft.nodes.push_back(std::move(node));
  }
  const int32_t top = draft.node(cone.back()).output();
  try {
    return values_of<int8_t>(evaluation.finish({made[static_cast<size_t>(top)]})[0]);
  } catch (const ImportError&) {
    evaluation.discard();
    return std::nullopt;
  }
}

}  // namespace

bool join_lookups(Draft& draft) {
  const Sources sources(draft);
  std::vector<bool> is_joined(draft.nodes.size(), false);
  bool changed = false;
  for (auto top = static_cast<int32_t>(draft.nodes.size()) - 1; top >= 0; --top) {
    if (is_joined[static_cast<size_t>(top)] || draft.node(top).outputs.size() != 1) continue;
    const std::vector<int32_t> cone = sources.cone(top);
    if (cone.empty()) continue;
    const int32_t output = draft.node(top).output(), source = sources.source(output);
    const auto table = table_values(draft, cone, source);
    if (!table) continue;
    for (const int32_t inner : cone) is_joined[static_cast<size_t>(inner)] = true;
    const int32_t entries =
        add_constant(draft, draft.tensor(output).name + "/table", DType::kS8, {kCodes}, *table);
    DraftNode& node = draft.node(top);
    node.inputs = {source, entries};
    node.become(Op::kLookup);
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
