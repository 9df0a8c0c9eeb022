// ONNX matrix products: FullyConnected with constant weights, else BatchMatMul.
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
  const Shape shape = op.shape(x);
  const int32_t w = add_constant(op.draft(), op.input_name(1), DType::kF32, {channels, shape[1]}, weights);
  if (axis >= 0) op.take_grid(1, axis, w, 0);
  const std::string bias_name = op.has_input(2) ? op.input_name(2) : op.input_name(1) + "/bias";
  const int32_t b = add_constant(op.draft(), bias_name, DType::kF32, {channels}, bias);
  return op.make(Op::kFullyConnected, {x, w, b}, {shape[0], channels});
}

OnnxConstant<float> matrix(OnnxOp& op) {
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

// alpha * a * b + beta * c, with b or c, or all, from activations.
void import_computed_gemm(OnnxOp& op) {
  const auto matrix_operand = [&](int i) {
    const int32_t x = op.activation_or_numbers(i);
    const Shape shape = op.shape(x);
    if (shape.size() != 2) fail("input ", i, " has the shape ", shape_text(shape), "; rank 2 is expected");
    return x;
  };
  int32_t a = matrix_operand(0);
  const int32_t b = matrix_operand(1);
  if (op.integer("transA", 0) != 0) a = add_swapped(op.part("/rows"), a);
  const std::string name = op.name() + "/product";
  int32_t y = add_matrix_product(op.named(name), a, b, op.integer("transB", 0) != 0);
  const float alpha = op.real("alpha", 1.0f), beta = op.real("beta", 1.0f);
  if (alpha != 1.0f) y = add_scaled(op, y, alpha);
  if (!op.has_input(2)) return op.set_output(y);
  int32_t c = op.activation_or_numbers(2);
  Shape shape = op.shape(c);
  if (shape.size() < 2) shape.insert(shape.begin(), 2 - shape.size(), 1);
  const Shape wanted = op.shape(y);
  const auto fits = [](int32_t dim, int32_t whole) { return dim == 1 || dim == whole; };
  if (shape.size() != 2 || !fits(shape[0], wanted[0]) || !fits(shape[1], wanted[1]))
    fail("its third input has the shape ", shape_text(shape), ", which does not fit ", shape_text(wanted));
  if (op.draft().tensor(c).constant) {
    std::vector<float> values = values_of<float>(op.draft().tensor(c));
    scale(values, beta);
    c = add_constant(op.draft(), op.input_name(2), DType::kF32, shape, values);
  } else {
    c = add_reshape(op.part("/added"), c, shape);
    if (beta != 1.0f) c = add_scaled(op, c, beta);
  }
  op.set_output(add_binary(op, Op::kAdd, y, c));
}

void import_gemm(OnnxOp& op) {
  op.check_inputs(2, 3);
  op.ignore("beta");
  if (op.is_constant(0) || !op.is_constant(1) || (op.has_input(2) && !op.is_constant(2)))
    return import_computed_gemm(op);
  int32_t x = op.activation(0);
  Shape shape = op.shape(x);
  check_rank(shape, 2);
  if (op.integer("transA", 0) != 0) x = add_transpose(op.part("/rows"), x, {1, 0});
  shape = op.shape(x);
  OnnxConstant<float> w = matrix(op);
  const bool rows_are_channels = op.integer("transB", 0) != 0;
  const int32_t channels = w.shape[rows_are_channels ? 0 : 1], k = w.shape[rows_are_channels ? 1 : 0];
  if (k != shape[1]) fail("its weights take ", k, " columns, its input has ", shape[1]);
  if (!rows_are_channels) w.values = transposed(w.values, k, channels);
  scale(w.values, op.real("alpha", 1.0f));
  const int32_t axis = op.real("alpha", 1.0f) != 1.0f ? -1 : rows_are_channels ? 0 : 1;
  op.set_output(add_fully_connected(op, x, w.values, channels, gemm_bias(op, shape[0], channels), axis));
}

// With a vector for a matrix of one row, or of one column, which the result lacks again.
void import_computed_mat_mul(OnnxOp& op) {
  int32_t a = op.activation_or_numbers(0), b = op.activation_or_numbers(1);
  for (const int i : {0, 1})
    if (op.is_constant(i)) op.take_grid(i, -1, i == 0 ? a : b, -1);
  const Shape a_shape = op.shape(a), b_shape = op.shape(b);
  const auto as = [&](int32_t x, const Shape& shape) {
    if (!op.draft().tensor(x).constant) return add_reshape(op.part("/matrix"), x, shape);
    op.shape(x) = shape;
    return x;
  };
  if (a_shape.size() == 1) a = as(a, {1, a_shape[0]});
  if (b_shape.size() == 1) b = as(b, {b_shape[0], 1});
  const int32_t y = add_matrix_product(op.result(), a, b, false);
  Shape shape = op.shape(y);
  if (b_shape.size() == 1) shape.pop_back();
  if (a_shape.size() == 1) shape.erase(shape.end() - (b_shape.size() == 1 ? 1 : 2));
  if (shape.empty()) shape = {1};
  op.set_output(add_reshape(op.result(), y, shape));
}

void import_mat_mul(OnnxOp& op) {
  op.check_inputs(2, 2);
  if (op.is_constant(0) || !op.is_constant(1) || op.floats(1).shape.size() != 2)
    return import_computed_mat_mul(op);
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  const OnnxConstant<float> w = matrix(op);
  const int32_t k = w.shape[0], channels = w.shape[1];
  if (k != shape.back()) fail("its weights take ", k, " columns, its input has ", shape.back());
  const auto rows = static_cast<int32_t>(elements(shape) / k);
  const int32_t flat = add_reshape(op.part("/flat"), x, {rows, k});
  const std::vector<float> bias(static_cast<size_t>(channels), 0.0f);
  const int32_t y = add_fully_connected(op, flat, transposed(w.values, k, channels), channels, bias, 1);
  Shape out = shape;
  out.back() = channels;
  op.set_output(add_reshape(op.result(), y, out));
}

void import_einsum(OnnxOp& op) {
  op.check_inputs(1, 64);
  const std::string equation = op.string("equation", "");
  if (op.input_count() != 2)
    fail("it has ", op.input_count(), " inputs; the equation ", quoted(equation), " is supported with two");
  op.set_output(add_einsum(op.result(), equation, op.activation_or_numbers(0), op.activation_or_numbers(1)));
}

constexpr OnnxOperator kOnnxLinearOperators[] = {
    {"Einsum",
     import_einsum,
     {Op::kBatchMatMul, Op::kFullyConnected, Op::kTranspose},
     "Of two inputs, without a diagonal, an ellipsis and a sum over one input alone."},
    {"Gemm", import_gemm, {Op::kFullyConnected, Op::kBatchMatMul}, "Rank 2."},
    {"MatMul", import_mat_mul, {Op::kFullyConnected, Op::kBatchMatMul}, ""},
};

}  // namespace

Span<const OnnxOperator> onnx_linear_operators() { return kOnnxLinearOperators; }

}  // namespace intaglio::importers
