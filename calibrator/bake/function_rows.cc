#include "calibrator/bake/function_rows.h"

#include "calibrator/quantization/int8_nodes.h"
#include "runtime/liveness.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

// The computed tensor that a node reads, once or twice; -1: several, or none. Constants have one number.
int32_t operand_of(const Model& model, const NodeInfo& node) {
  int32_t found = -1;
  for (const int32_t input : node.inputs) {
    if (input < 0) return -1;
    const TensorInfo info = model.tensor(input);
    if (info.dtype != DType::kF32) return -1;
    if (info.is_constant() ? info.shape.elements() != 1 : found >= 0 && found != input) return -1;
    if (!info.is_constant()) found = input;
  }
  return found;
}

// By name, since a function of its own in each operator's record would be flash on every board.
bool is_binary(Op op) { return op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kDiv; }

double apply(const Model& model, const NodeInfo& node, const QuantRule& rule, double x) {
  if (rule.unary != nullptr) return rule.unary(node.options, x);
  double operands[2] = {x, x};
  for (size_t i = 0; i < 2; ++i) {
    const TensorInfo info = model.tensor(node.inputs[i]);
    if (info.is_constant())
      operands[i] = static_cast<double>(*reinterpret_cast<const float*>(info.constant.data));
  }
  const double a = operands[0], b = operands[1];
  const double y = node.op == Op::kAdd   ? a + b
                   : node.op == Op::kSub ? a - b
                   : node.op == Op::kMul ? a * b
                                         : a / b;
  const auto clamp = node.options.value<Clamp>();
  const auto lo = static_cast<double>(clamp.min), hi = static_cast<double>(clamp.max);
  return y < lo ? lo : (y > hi ? hi : y);
}

}  // namespace

bool FunctionRows::is_step(int32_t node) const {
  if (options_.compat != Compat::kNone || !options_.known.empty()) return false;
  const NodeInfo info = model_.node(node);
  const OpDef* const def = find_op(float_ops(), model_, info);
  if (def == nullptr || info.outputs.size != 1 || operand_of(model_, info) < 0) return false;
  const bool is_function = def->quant.unary != nullptr && info.inputs.size == 1;
  if (!is_function && !(is_binary(info.op) && info.inputs.size == 2)) return false;
  if (!functions_.empty() && !functions_[static_cast<size_t>(node)].empty()) return false;
  if (!becomes_int8(model_, node, options_)) return false;
  for (size_t i = 0; i < info.inputs.size; ++i)
    if (slots_.slots.params(slots_.input_slot(node, i)).hi > 127) return false;
  return slots_.slots.params(info.outputs[0]).hi <= 127;
}

bool FunctionRows::has_table(int32_t node) const {
  const OpDef* const def = find_op(float_ops(), model_, model_.node(node));
  return def != nullptr && def->quant.table == TableRule::kUnary;
}

int32_t FunctionRows::next_step(int32_t node) const {
  const int32_t tensor = model_.node_outputs(node)[0];
  for (const int32_t output : model_.outputs())
    if (output == tensor) return -1;
  int32_t reader = -1;
  for (int32_t n = node + 1; n < model_.node_count(); ++n)
    for (const int32_t input : model_.node_inputs(n)) {
      if (input != tensor) continue;
      if (reader >= 0 && reader != n) return -1;
      reader = n;
    }
  return reader >= 0 && is_step(reader) && !has_setting(node, reader) ? reader : -1;
}

bool FunctionRows::has_setting(int32_t writer, int32_t reader) const {
  const auto is_for = [&](const SlotSetting& setting) {
    bool found = applies(setting, writer, SlotRole::kOutput, -1);
    for (size_t i = 0; i < model_.node_inputs(reader).size; ++i)
      found = found || applies(setting, reader, SlotRole::kInput, static_cast<int32_t>(i));
    return found;
  };
  for (const SlotSetting& setting : options_.slots)
    if (is_for(setting)) return true;
  for (const SlotRange& range : options_.ranges)
    if (is_for({range.node, range.role, range.input})) return true;
  return false;
}

int32_t FunctionRows::previous_step(int32_t node) const {
  const int32_t writer = writer_of(model_, operand_of(model_, model_.node(node)));
  return writer >= 0 && is_step(writer) && next_step(writer) == node ? writer : -1;
}

bool FunctionRows::goes_on_behind(int32_t node) const {
  if (!is_step(node)) return false;
  constexpr int32_t kMostWithoutTable = 8;  // each is looked for among all nodes
  for (int32_t i = 0, next = next_step(node); next >= 0 && i < kMostWithoutTable; ++i) {
    if (has_table(next)) return true;
    next = next_step(next);
  }
  return false;
}

int32_t FunctionRows::first_step(int32_t node) const {
  if (!has_table(node) || !is_step(node)) return node;
  for (int32_t previous; (previous = previous_step(node)) >= 0 && goes_on_behind(previous);) node = previous;
  return node;
}

Span<const int32_t> FunctionRows::steps(int32_t first, int32_t last, Arena& arena) const {
  size_t count = 1;
  for (int32_t node = first; node != last; node = next_step(node)) ++count;
  const Span<int32_t> list = arena.make<int32_t>(count);
  for (size_t i = 0; i < list.size; ++i) list[i] = i == 0 ? first : next_step(list[i - 1]);
  return list;
}

double FunctionRows::value(Span<const int32_t> steps, double x) const {
  for (const int32_t step : steps) {
    const NodeInfo node = model_.node(step);
    x = apply(model_, node, find_op(float_ops(), model_, node)->quant, x);
  }
  return x;
}

}  // namespace intaglio
