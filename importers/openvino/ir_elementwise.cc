// Layers of an OpenVINO IR that compute each element on its own.
#include <cmath>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

// The same operator under ONNX's name.
std::string onnx_name(const IrOp& op) {
  const IrOperator* const row = find_ir_operator(op.layer().type);
  return row->onnx == nullptr ? row->type : row->onnx;
}

void import_unary(IrOp& op) {
  op.check_inputs(1, 1);
  op.add(onnx_name(op).c_str(), {op.input(0)});
}

// Of operands that repeat as ONNX has it.
void check_operands(IrOp& op, size_t count) {
  op.check_inputs(count, count);
  op.expect("auto_broadcast", {"numpy", "none"});
}

void import_binary(IrOp& op) {
  check_operands(op, 2);
  op.add(onnx_name(op).c_str(), {op.input(0), op.input(1)});
}

// Integers go towards 0, or down where the file says so: what is left of such a division is taken off before.
void import_divide(IrOp& op) {
  check_operands(op, 2);
  const std::string a = op.input(0), b = op.input(1);
  const std::string& type = op.layer().outputs.at(0).type;
  const bool goes_down = op.flag("m_pythondiv", true) && !type.empty() && type[0] == 'I';
  op.add("Div", {goes_down ? op.add_inner("Sub", {a, op.add_inner("Mod", {a, b})}) : a, b});
}

void import_not_equal(IrOp& op) {
  check_operands(op, 2);
  op.add("Not", {op.add_inner("Equal", {op.input(0), op.input(1)})});
}

void import_squared_difference(IrOp& op) {
  check_operands(op, 2);
  const std::string difference = op.add_inner("Sub", {op.input(0), op.input(1)});
  op.add("Mul", {difference, difference});
}

void import_clamp(IrOp& op) {
  op.check_inputs(1, 1);
  const double least = op.real("min", -INFINITY), most = op.real("max", INFINITY);
  op.add("Clip", {op.input(0), op.number(static_cast<float>(least)), op.number(static_cast<float>(most))});
}

void import_elu(IrOp& op) {
  op.check_inputs(1, 1);
  op.add("Elu", {op.input(0)}, {{"alpha", static_cast<float>(op.real("alpha", 1.0))}});
}

void import_selu(IrOp& op) {
  op.check_inputs(3, 3);
  op.add("Selu", {op.input(0)}, {{"alpha", op.real_number(1)}, {"gamma", op.real_number(2)}});
}

void import_hard_sigmoid(IrOp& op) {
  op.check_inputs(3, 3);
  op.add("HardSigmoid", {op.input(0)}, {{"alpha", op.real_number(1)}, {"beta", op.real_number(2)}});
}

// min(max(x + 3, 0), 6) / 6
void import_h_sigmoid(IrOp& op) {
  op.check_inputs(1, 1);
  op.add("HardSigmoid", {op.input(0)}, {{"alpha", 1.0f / 6.0f}, {"beta", 0.5f}});
}

// x * sigmoid(beta * x)
void import_swish(IrOp& op) {
  op.check_inputs(1, 2);
  const float beta = op.has_input(1) ? op.real_number(1) : 1.0f;
  const std::string x = op.input(0);
  const std::string scaled = beta == 1.0f ? x : op.add_inner("Mul", {x, op.number(beta)});
  op.add("Mul", {x, op.add_inner("Sigmoid", {scaled})});
}

void import_gelu(IrOp& op) {
  op.check_inputs(1, 1);
  const std::string mode = op.word("approximation_mode", "ERF");
  const bool is_tanh = mode == "TANH" || mode == "tanh";
  if (!is_tanh && mode != "ERF" && mode != "erf")
    fail("approximation_mode ", quoted(mode), " is not supported");
  op.add("Gelu", {op.input(0)}, {{"approximate", is_tanh ? "tanh" : "none"}});
}

// A slope for each channel stands at the second axis; ONNX aligns the last ones.
void import_prelu(IrOp& op) {
  op.check_inputs(2, 2);
  const size_t rank = op.input_shape(0).size();
  const IrShape& slope = op.input_shape(1);
  if (slope.size() != 1 || rank < 2 || slope[0] == 1) {
    op.add("PRelu", {op.input(0), op.input(1)});
    return;
  }
  IrShape shape(rank - 1, 1);
  shape[0] = slope[0];
  op.add("PRelu", {op.input(0), ir_weights(op, op.source(1), shape)});
}

void import_round(IrOp& op) {
  op.check_inputs(1, 1);
  op.expect("mode", {"half_to_even"});
  op.add("Round", {op.input(0)});
}

void import_select(IrOp& op) {
  check_operands(op, 3);
  op.add("Where", {op.input(0), op.input(1), op.input(2)});
}

// The remainder of a division: with the sign of the dividend, or of the divisor.
void import_mod(IrOp& op) {
  check_operands(op, 2);
  op.add("Mod", {op.input(0), op.input(1)}, {{"fmod", op.layer().type == "Mod"}});
}

void import_is_inf(IrOp& op) {
  op.check_inputs(1, 1);
  const bool negative = op.flag("detect_negative", true), positive = op.flag("detect_positive", true);
  op.add("IsInf", {op.input(0)}, {{"detect_negative", negative}, {"detect_positive", positive}});
}

void import_is_finite(IrOp& op) {
  op.check_inputs(1, 1);
  const std::string infinite = op.add_inner("IsInf", {op.input(0)}),
                    none = op.add_inner("IsNaN", {op.input(0)});
  op.add("Not", {op.add_inner("Or", {infinite, none})});
}

void import_shift(IrOp& op) {
  check_operands(op, 2);
  const bool is_left = op.layer().type == "BitwiseLeftShift";
  op.add("BitShift", {op.input(0), op.input(1)}, {{"direction", is_left ? "LEFT" : "RIGHT"}});
}

constexpr IrOperator kIrElementwiseOperators[] = {
    {"Abs", import_unary},
    {"Acos", import_unary},
    {"Acosh", import_unary},
    {"Add", import_binary},
    {"Asin", import_unary},
    {"Asinh", import_unary},
    {"Atan", import_unary},
    {"Atanh", import_unary},
    {"BitwiseAnd", import_binary},
    {"BitwiseLeftShift", import_shift},
    {"BitwiseNot", import_unary},
    {"BitwiseOr", import_binary},
    {"BitwiseRightShift", import_shift},
    {"BitwiseXor", import_binary},
    {"Ceiling", import_unary, "Ceil"},
    {"Clamp", import_clamp},
    {"Cos", import_unary},
    {"Cosh", import_unary},
    {"Divide", import_divide},
    {"Elu", import_elu},
    {"Equal", import_binary},
    {"Erf", import_unary},
    {"Exp", import_unary},
    {"Floor", import_unary},
    {"FloorMod", import_mod},
    {"Gelu", import_gelu},
    {"Greater", import_binary},
    {"GreaterEqual", import_binary, "GreaterOrEqual"},
    {"HSigmoid", import_h_sigmoid},
    {"HSwish", import_unary, "HardSwish"},
    {"HardSigmoid", import_hard_sigmoid},
    {"IsFinite", import_is_finite},
    {"IsInf", import_is_inf},
    {"IsNaN", import_unary},
    {"Less", import_binary},
    {"LessEqual", import_binary, "LessOrEqual"},
    {"Log", import_unary},
    {"LogicalAnd", import_binary, "And"},
    {"LogicalNot", import_unary, "Not"},
    {"LogicalOr", import_binary, "Or"},
    {"LogicalXor", import_binary, "Xor"},
    {"Maximum", import_binary, "Max"},
    {"Minimum", import_binary, "Min"},
    {"Mish", import_unary},
    {"Mod", import_mod},
    {"Negative", import_unary, "Neg"},
    {"NotEqual", import_not_equal},
    {"PReLU", import_prelu},
    {"Power", import_binary, "Pow"},
    {"ReLU", import_unary, "Relu"},
    {"Round", import_round},
    {"Select", import_select},
    {"Selu", import_selu},
    {"Sigmoid", import_unary},
    {"Sign", import_unary},
    {"Sin", import_unary},
    {"Sinh", import_unary},
    {"SoftPlus", import_unary, "Softplus"},
    {"SoftSign", import_unary, "Softsign"},
    {"Sqrt", import_unary},
    {"SquaredDifference", import_squared_difference},
    {"Subtract", import_binary, "Sub"},
    {"Swish", import_swish},
    {"Tan", import_unary},
    {"Tanh", import_unary},
};

}  // namespace

Span<const IrOperator> ir_elementwise_operators() { return kIrElementwiseOperators; }

}  // namespace intaglio::importers
