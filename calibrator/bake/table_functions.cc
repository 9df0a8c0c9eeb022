#include "calibrator/bake/table_functions.h"

#include "calibrator/quantization/int8_nodes.h"
#include "runtime/liveness.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

// What is computed of up to three operands. Here, since a function of its own in each operator's record would be flash on every board.
struct Joining {
  Op op;
  bool has_codes;  // int8 has the operator
  double (*value)(double a, double b, double c);
};
constexpr Joining kJoinings[] = {
    {Op::kAdd, true, [](double a, double b, double) { return a + b; }},
    {Op::kSub, true, [](double a, double b, double) { return a - b; }},
    {Op::kMul, true, [](double a, double b, double) { return a * b; }},
    {Op::kDiv, true, [](double a, double b, double) { return a / b; }},
    {Op::kMaximum, true, [](double a, double b, double) { return a < b ? b : a; }},
    {Op::kMinimum, true, [](double a, double b, double) { return b < a ? b : a; }},
    {Op::kLess, false, [](double a, double b, double) { return a < b ? 1.0 : 0.0; }},
    {Op::kLessOrEqual, false, [](double a, double b, double) { return a <= b ? 1.0 : 0.0; }},
    {Op::kEqual, false, [](double a, double b, double) { return a == b ? 1.0 : 0.0; }},
    {Op::kWhere, false, [](double a, double b, double c) { return a != 0.0 ? b : c; }},
};

const Joining* joining_of(Op op) {
  for (const Joining& joining : kJoinings)
    if (joining.op == op) return &joining;
  return nullptr;
}

double clamped(const NodeInfo& node, double y) {
  const auto clamp = node.options.value<Clamp>();
  const auto lo = static_cast<double>(clamp.min), hi = static_cast<double>(clamp.max);
  return y < lo ? lo : (y > hi ? hi : y);
}

}  // namespace

bool TableFunction::has(int32_t node) const {
  for (int32_t i = 0; i < count; ++i)
    if (nodes[i] == node) return true;
  return false;
}

bool TableFunctions::is_step(int32_t node) const {
  const NodeInfo info = model_.node(node);
  const OpDef* const def = find_op(float_ops(), model_, info);
  if (def == nullptr || info.outputs.size != 1) return false;
  const bool is_function = def->quant.unary != nullptr && info.inputs.size == 1;
  const Joining* const joining = joining_of(info.op);
  if (!is_function && joining == nullptr) return false;
  const Shape shape = model_.tensor(info.outputs[0]).shape;
  for (const int32_t input : info.inputs) {
    if (input < 0) return false;
    const TensorInfo operand = model_.tensor(input);
    if (operand.dtype != DType::kF32) return false;
    if (operand.is_constant() ? operand.shape.elements() != 1 : operand.shape != shape) return false;
  }
  if (!functions_.empty() && !functions_[static_cast<size_t>(node)].empty()) return false;
  const bool has_codes = joining == nullptr || joining->has_codes;
  return !is_wide(model_, node, options_) && (!has_codes || becomes_int8(model_, node, options_));
}

bool TableFunctions::has_setting(int32_t node, bool is_last) const {
  const auto is_for = [&](const SlotSetting& setting) {
    bool found = !is_last && applies(setting, node, SlotRole::kOutput, -1);
    for (size_t i = 0; i < model_.node_inputs(node).size; ++i)
      found = found || applies(setting, node, SlotRole::kInput, static_cast<int32_t>(i));
    return found;
  };
  for (const SlotSetting& setting : options_.slots)
    if (is_for(setting)) return true;
  for (const SlotRange& range : options_.ranges)
    if (is_for({range.node, range.role, range.input})) return true;
  return false;
}

bool TableFunctions::is_read_within(const TableFunction& function, int32_t tensor) const {
  for (const int32_t output : model_.outputs())
    if (output == tensor) return false;
  for (int32_t n = writer_of(model_, tensor) + 1; n < model_.node_count(); ++n)
    for (const int32_t input : model_.node_inputs(n))
      if (input == tensor && !function.has(n)) return false;
  return true;
}

bool TableFunctions::is_read_as_codes(int32_t tensor) const {
  for (const int32_t output : model_.outputs())
    if (output == tensor) return false;
  for (int32_t n = writer_of(model_, tensor) + 1; n < model_.node_count(); ++n)
    for (const int32_t input : model_.node_inputs(n))
      if (input == tensor && (!becomes_int8(model_, n, options_) || is_wide(model_, n, options_)))
        return false;
  return true;
}

TableFunction TableFunctions::ending_with(int32_t last) const {
  TableFunction best;
  if (options_.compat != Compat::kNone || !options_.known.empty() || !is_step(last) ||
      has_setting(last, true))
    return best;
  if (!becomes_int8(model_, last, options_) && !is_read_as_codes(model_.node_outputs(last)[0])) return best;
  TableFunction grown;
  grown.nodes[0] = last;
  grown.count = 1;
  while (true) {
    // What they read of others: one tensor is wanted. Of its writers that can be taken in the last one is.
    int32_t tensors = 0, taken = -1;
    grown.x = -1;
    for (int32_t i = 0; i < grown.count; ++i)
      for (const int32_t input : model_.node_inputs(grown.nodes[i])) {
        if (input == grown.x || model_.tensor(input).is_constant()) continue;
        const int32_t writer = writer_of(model_, input);
        if (grown.has(writer)) continue;
        grown.x = input;
        ++tensors;
        if (writer > taken && is_step(writer) && !has_setting(writer, false) && is_read_within(grown, input))
          taken = writer;
      }
    const int32_t writer = grown.x < 0 ? -1 : writer_of(model_, grown.x);
    if (tensors == 1 && grown.count > 1 && (writer < 0 || !is_wide(model_, writer, options_))) best = grown;
    if (taken < 0 || grown.count == TableFunction::kMost) return best;
    int32_t i = grown.count++;
    for (; i > 0 && grown.nodes[i - 1] > taken; --i) grown.nodes[i] = grown.nodes[i - 1];
    grown.nodes[i] = taken;
  }
}

double TableFunctions::value(const TableFunction& function, double x) const {
  double values[TableFunction::kMost] = {};
  const auto value_of = [&](int32_t tensor) {
    const TensorInfo info = model_.tensor(tensor);
    if (info.is_constant()) return static_cast<double>(*reinterpret_cast<const float*>(info.constant.data));
    for (int32_t i = 0; i < function.count; ++i)
      if (model_.node_outputs(function.nodes[i])[0] == tensor) return values[i];
    return x;
  };
  for (int32_t i = 0; i < function.count; ++i) {
    const NodeInfo node = model_.node(function.nodes[i]);
    const QuantRule& rule = find_op(float_ops(), model_, node)->quant;
    double operands[3] = {};
    for (size_t k = 0; k < node.inputs.size && k < 3; ++k) operands[k] = value_of(node.inputs[k]);
    values[i] = rule.unary != nullptr
                    ? rule.unary(node.options, operands[0])
                    : clamped(node, joining_of(node.op)->value(operands[0], operands[1], operands[2]));
  }
  return values[function.count - 1];
}

}  // namespace intaglio
