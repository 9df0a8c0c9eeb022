// ONNX matrix products with constant weights: FullyConnected.
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// [k, n] to [n, k], as our weights stand.
std::vector<float> transposed(const std::vector<float>& values, int32_t rows, int32_t columns) {
  DraftTensor tensor;
  set_values(tensor, values);
  tensor.data = permuted_data(tensor.data, 4, {rows, columns}, {1, 0});
  return values_of<float>(tensor);
}

void scale(std::vector<float>& values, float factor) {
  if (factor == 1.0f) return;
  for (float& value : values) value *= factor;
}

// `axis`: the channels' in the file's weights; -1 where they are not as the file has them.
int32_t add_fully_connected(OnnxOp& op, int32_t x, const std::vector<float>& weights, int32_t channels,
                            const std::vector<float>& bias, int32_t axis) {
  const Shape shape = op.draft().tensor(x).shape;
  const int32_t w = add_constant(op.draft(), op.input_name(1), DType::kF32, {channels, shape[1]}, weights);
  if (axis >= 0) op.take_grid(1, axis, w, 0);
  const std::string bias_name = op.has_input(2) ? op.input_name(2) : op.input_name(1) + "/bias";
  const int32_t b = add_constant(op.draft(), bias_name, DType::kF32, {channels}, bias);
  const int32_t y = op.new_tensor({shape[0], channels});
  op.add(Op::kFullyConnected, {x, w, b}, y);
  return y;
}

OnnxConstant<float> matrix(OnnxOp& op) {
  if (!op.is_constant(1))
    fail("its second input must be a constant: products of two activations are not supported");
  OnnxConstant<float> w = op.floats(1);
  if (w.shape.size() != 2) fail("its weights have the shape ", shape_text(w.shape), "; rank 2 is expected");
  check_shape(w.shape, DType::kF32);
  return w;
}

// Gemm's C, broadcast to one value a column.
std::vector<float> gemm_bias(OnnxOp& op, int32_t rows, int32_t channels) {
  std::vector<float> bias(static_cast<size_t>(channels), 0.0f);
  if (!op.has_input(2)) return bias;
  const OnnxConstant<float> c = op.floats(2);
  const bool row = c.shape.empty() || c.shape.back() == channels || c.shape.back() == 1;
  const auto count = static_cast<int64_t>(c.values.size());
  if (!row || c.shape.size() > 2 || (count != channels && count != 1) ||
      (c.shape.size() == 2 && c.shape[0] != 1 && rows != 1))
    fail("its bias has the shape ", shape_text(c.shape), "; one value, or ", channels,
         " in a row, are expected");
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = c.values[count == 1 ? 0 : i];
  scale(bias, op.real("beta", 1.0f));
  return bias;
}

void import_gemm(OnnxOp& op) {
  op.check_inputs(2, 3);
  int32_t x = op.activation(0);
  Shape shape = op.draft().tensor(x).shape;
  if (shape.size() != 2) fail("its input has the shape ", shape_text(shape), "; rank 2 is expected");
  if (op.integer("transA", 0) != 0)
    x = add_transpose(op.draft(), op.name() + "/rows", op.source(), x, {1, 0});
  shape = op.draft().tensor(x).shape;
  op.ignore("beta");
  OnnxConstant<float> w = matrix(op);
  const bool rows_are_channels = op.integer("transB", 0) != 0;
  const int32_t channels = w.shape[rows_are_channels ? 0 : 1], k = w.shape[rows_are_channels ? 1 : 0];
  if (k != shape[1]) fail("its weights take ", k, " columns, its input has ", shape[1]);
  if (!rows_are_channels) w.values = transposed(w.values, k, channels);
  scale(w.values, op.real("alpha", 1.0f));
  const int32_t axis = op.real("alpha", 1.0f) != 1.0f ? -1 : rows_are_channels ? 0 : 1;
  op.set_output(add_fully_connected(op, x, w.values, channels, gemm_bias(op, shape[0], channels), axis));
}

void import_mat_mul(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  const OnnxConstant<float> w = matrix(op);
  const int32_t k = w.shape[0], channels = w.shape[1];
  if (k != shape.back()) fail("its weights take ", k, " columns, its input has ", shape.back());
  const auto rows = static_cast<int32_t>(elements(shape) / k);
  const int32_t flat = add_reshape(op.draft(), op.name() + "/flat", op.source(), x, {rows, k});
  const std::vector<float> bias(static_cast<size_t>(channels), 0.0f);
  const int32_t y = add_fully_connected(op, flat, transposed(w.values, k, channels), channels, bias, 1);
  Shape out = shape;
  out.back() = channels;
  op.set_output(add_reshape(op.draft(), op.output_name(), op.source(), y, out));
}

constexpr OnnxOperator kOperators[] = {
    {"Gemm", import_gemm, {Op::kFullyConnected}, "Rank 2. The second input and the bias are constants."},
    {"MatMul", import_mat_mul, {Op::kFullyConnected}, "The second input is a constant of rank 2."},
};

}  // namespace

Span<const OnnxOperator> onnx_linear_operators() { return kOperators; }

}  // namespace intaglio::importers
