// ONNX operators of two tensors, each repeated where it is smaller.
#include <algorithm>

#include "importers/onnx_handlers.h"

namespace intaglio::importers {
namespace {

Shape with_rank(Shape shape, size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

struct Operand {
  OnnxConstant<float> constant;
  int32_t tensor = -1;  // -1: the constant
  Shape shape;
};

Operand read_operand(OnnxOp& op, int input) {
  Operand operand;
  if (op.is_constant(input)) {
    operand.constant = op.floats(input);
    operand.shape = operand.constant.shape;
  } else {
    operand.tensor = op.activation(input);
    operand.shape = op.draft().tensor(operand.tensor).shape;
  }
  return operand;
}

// The operand with as many axes as the result.
int32_t aligned(OnnxOp& op, int input, const Operand& operand, size_t rank) {
  const Shape shape = with_rank(operand.shape, rank);
  const std::string& name = op.input_name(input);
  if (operand.tensor < 0) return add_constant(op.draft(), name, DType::kF32, shape, operand.constant.values);
  return add_reshape(op.draft(), name, op.source(), operand.tensor, shape);
}

void add_binary(OnnxOp& op, Op kind, Operand a, Operand b) {
  const size_t rank = std::max(a.shape.size(), b.shape.size());
  Shape out = with_rank(a.shape, rank);
  const Shape other = with_rank(b.shape, rank);
  for (size_t i = 0; i < rank; ++i) {
    if (out[i] != other[i] && out[i] != 1 && other[i] != 1)
      fail("its inputs have the shapes ", shape_text(a.shape), " and ", shape_text(b.shape),
           ", which do not fit each other");
    if (out[i] == 1) out[i] = other[i];
  }
  const int32_t first = aligned(op, 0, a, rank), second = aligned(op, 1, b, rank);
  const int32_t y = op.new_tensor(out);
  op.add(kind, {first, second}, y);
  op.set_output(y);
}

void import_binary(OnnxOp& op, Op kind) {
  op.check_inputs(2, 2);
  if (op.is_constant(0) && op.is_constant(1)) fail("both its inputs are constants");
  add_binary(op, kind, read_operand(op, 0), read_operand(op, 1));
}

}  // namespace

void import_onnx_add(OnnxOp& op) { import_binary(op, Op::kAdd); }
void import_onnx_sub(OnnxOp& op) { import_binary(op, Op::kSub); }
void import_onnx_mul(OnnxOp& op) { import_binary(op, Op::kMul); }

void import_onnx_div(OnnxOp& op) {
  op.check_inputs(2, 2);
  if (op.is_constant(0) || !op.is_constant(1))
    fail("only divisions of an activation by a constant are supported");
  Operand divisor = read_operand(op, 1);
  for (float& value : divisor.constant.values) {
    if (value == 0.0f) fail("it divides by 0");
    value = 1.0f / value;
  }
  add_binary(op, Op::kMul, read_operand(op, 0), std::move(divisor));
}

}  // namespace intaglio::importers
