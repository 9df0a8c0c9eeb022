// ONNX operators from element to element, and softmax.
#include <cmath>

#include "importers/onnx_handlers.h"

namespace intaglio::importers {
namespace {

void add_clamp(OnnxOp& op, float low, float high) {
  if (!(low <= high)) fail("it clips to ", low, " and ", high, "; the first must not be above the second");
  const int32_t x = op.activation(0);
  const int32_t y = op.new_tensor(op.draft().tensor(x).shape);
  DraftNode& node = op.add(Op::kClamp, {x}, y);
  node.clamp_min = low;
  node.clamp_max = high;
  op.set_output(y);
}

float scalar(OnnxOp& op, int input, float otherwise) {
  if (!op.has_input(input)) return otherwise;
  const OnnxConstant<float> constant = op.floats(input);
  if (constant.values.size() != 1)
    fail("input ", input, " must be one value, it has ", constant.values.size());
  return constant.values[0];
}

// A constant operand with as many axes as the other.
int32_t aligned_constant(OnnxOp& op, int input, const Shape& shape) {
  OnnxConstant<float> constant = op.floats(input);
  bool fits = constant.shape.size() <= shape.size();
  if (fits) constant.shape.insert(constant.shape.begin(), shape.size() - constant.shape.size(), 1);
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = constant.shape[d] == shape[d] || constant.shape[d] == 1;
  if (!fits)
    fail("constant ", quoted(op.input_name(input)), " of shape ", shape_text(constant.shape),
         " cannot be added to ", shape_text(shape));
  return add_constant(op.draft(), op.input_name(input), DType::kF32, constant.shape, constant.values);
}

}  // namespace

void import_onnx_relu(OnnxOp& op) {
  op.check_inputs(1, 1);
  add_clamp(op, 0.0f, INFINITY);
}

void import_onnx_clip(OnnxOp& op) {
  op.check_inputs(1, 3);
  const bool by_inputs = op.opset() >= 11;
  const float low = by_inputs ? scalar(op, 1, -INFINITY) : op.real("min", -INFINITY);
  const float high = by_inputs ? scalar(op, 2, INFINITY) : op.real("max", INFINITY);
  add_clamp(op, low, high);
}

void import_onnx_add(OnnxOp& op) {
  op.check_inputs(2, 2);
  const bool first = op.is_constant(0), second = op.is_constant(1);
  if (first && second) fail("it adds two constants");
  const Shape shape = op.draft().tensor(op.activation(first ? 1 : 0)).shape;
  const int32_t a = first ? aligned_constant(op, 0, shape) : op.activation(0);
  const int32_t b = second ? aligned_constant(op, 1, shape) : op.activation(1);
  if (!first && !second && op.draft().tensor(b).shape != shape)
    fail("its inputs have the shapes ", shape_text(shape), " and ", shape_text(op.draft().tensor(b).shape),
         "; broadcasting is supported for constants alone");
  const int32_t y = op.new_tensor(shape);
  op.add(Op::kAdd, {a, b}, y);
  op.set_output(y);
}

void import_onnx_identity(OnnxOp& op) {
  op.check_inputs(1, 3);
  op.ignore("ratio");
  op.ignore("seed");
  op.ignore("is_test");
  if (op.is_constant(0)) fail("it copies a constant");
  op.set_output(op.activation(0));
}

void import_onnx_softmax(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  const bool flattens = op.opset() < 13;  // over all axes from `axis` on, as one
  const int32_t axis = normal_axis(op.integer("axis", flattens ? 1 : -1), shape.size());
  const auto softmax = [&](int32_t input) {
    const int32_t y = op.new_tensor(op.draft().tensor(input).shape);
    op.add(Op::kSoftmax, {input}, y);
    return y;
  };
  if (flattens) {
    Shape flat{1, 1};
    for (size_t i = 0; i < shape.size(); ++i) flat[static_cast<int32_t>(i) < axis ? 0 : 1] *= shape[i];
    // Where nothing is joined the shape stays, so that no Reshape is needed.
    const bool same = flat[1] == shape.back();
    const int32_t input = same ? x : add_reshape(op.draft(), op.name() + "/flat", op.source(), x, flat);
    return op.set_output(add_reshape(op.draft(), op.output_name(), op.source(), softmax(input), shape));
  }
  Permutation to_last;  // `axis` behind all others
  for (int32_t i = 0; i < static_cast<int32_t>(shape.size()); ++i)
    if (i != axis) to_last.push_back(i);
  to_last.push_back(axis);
  const int32_t input = add_transpose(op.draft(), op.name() + "/last", op.source(), x, to_last);
  op.set_output(add_transpose(op.draft(), op.output_name(), op.source(), softmax(input), inverse(to_last)));
}

}  // namespace intaglio::importers
