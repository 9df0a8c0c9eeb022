#include "importers/onnx/onnx_recurrent_weights.h"

#include "importers/draft/matrix_product.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

RecurrentWeights as_computed(OnnxOp& op, int input, const Shape& expected) {
  RecurrentWeights weights{op.input_name(input), expected[1], expected.size() > 2 ? expected[2] : 1, {}, -1};
  const int32_t given = op.activation(input);
  if (op.draft().tensor(given).shape != expected)
    fail("input ", input, " has the shape ", shape_text(op.draft().tensor(given).shape), "; ",
         shape_text(expected), " is expected");
  weights.tensor = add_reshape(op.draft(), op.name() + "/weights", op.source(), given,
                               {expected[0] * weights.rows, weights.columns});
  return weights;
}

std::vector<float> values_of_rows(const RecurrentWeights& from, size_t direction, int32_t first,
                                  int32_t count) {
  const auto columns = static_cast<size_t>(from.columns);
  const size_t row = direction * static_cast<size_t>(from.rows) + static_cast<size_t>(first);
  const auto begin = from.values.begin() + static_cast<std::ptrdiff_t>(row * columns);
  return {begin, begin + static_cast<std::ptrdiff_t>(static_cast<size_t>(count) * columns)};
}

int32_t add_vector(OnnxOp& op, const std::vector<float>& values, bool is_row) {
  const auto count = static_cast<int32_t>(values.size());
  return add_constant(op.draft(), op.name() + "/bias", DType::kF32, is_row ? Shape{1, count} : Shape{count},
                      values);
}

}  // namespace

RecurrentWeights read_recurrent_weights(OnnxOp& op, int input, const Shape& expected) {
  if (!op.is_constant(input)) return as_computed(op, input, expected);
  OnnxConstant<float> constant = op.floats(input);
  if (constant.shape != expected)
    fail("constant ", quoted(op.input_name(input)), " has the shape ", shape_text(constant.shape), "; ",
         expected[0], ", ", expected[1], " and ", expected[2], " are expected");
  return {op.input_name(input), expected[1], expected[2], std::move(constant.values), -1};
}

RecurrentWeights read_recurrent_vectors(OnnxOp& op, int input, const char* what, const Shape& expected) {
  if (op.has_input(input) && !op.is_constant(input)) return as_computed(op, input, expected);
  const auto count = static_cast<size_t>(elements(expected));
  RecurrentWeights vectors{op.name() + "/bias", expected[1], 1, {}, -1};
  vectors.values = op.has_input(input) ? op.floats(input).values : std::vector<float>(count, 0.0f);
  if (vectors.values.size() != count)
    fail("its ", what, " ", vectors.values.size(), " values; ", count, " are expected");
  return vectors;
}

void note_given_weights(OnnxOp& op) {
  std::string words, names;
  for (const int i : {1, 2}) {
    if (op.is_constant(i) || !is_model_input(op.draft(), op.activation(i))) continue;
    names += (names.empty() ? "" : ", ") + shown(op.input_name(i));
    words += " " + as_constant(op.input_name(i), elements(op.draft().tensor(op.activation(i)).shape));
  }
  if (names.empty()) return;
  op.draft().notes.push_back(
      text("the weights ", names, " of ", op.source(), " ", quoted(op.name()),
           " are inputs of the model, and stay FP32; if they are the same in each run,", words,
           " makes them a part of it"));
}

int32_t add_rows(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count) {
  if (from.tensor < 0)
    return add_constant(op.draft(), from.name, DType::kF32, {count, from.columns},
                        values_of_rows(from, direction, first, count));
  const Shape whole = op.draft().tensor(from.tensor).shape, part{count, from.columns};
  if (whole == part) return from.tensor;
  return add_slice(op.draft(), op.name() + "/rows", op.source(), from.tensor,
                   {static_cast<int32_t>(direction) * from.rows + first, 0}, {1, 1}, part);
}

int32_t add_row(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count) {
  if (from.tensor < 0) return add_vector(op, values_of_rows(from, direction, first, count), true);
  return add_reshape(op.draft(), op.name() + "/bias", op.source(),
                     add_rows(op, from, direction, first, count), {1, count});
}

int32_t add_bias(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t first, int32_t count,
                 const RecurrentWeights& weights) {
  if (from.tensor >= 0 || weights.tensor >= 0) return add_row(op, from, direction, first, count);
  return add_vector(op, values_of_rows(from, direction, first, count), false);
}

int32_t add_sum_of_biases(OnnxOp& op, const RecurrentWeights& from, size_t direction, int32_t count,
                          int32_t summed, const RecurrentWeights& weights) {
  if (from.tensor < 0) {
    std::vector<float> sums = values_of_rows(from, direction, 0, count);
    const std::vector<float> others = values_of_rows(from, direction, count, summed);
    for (size_t i = 0; i < others.size(); ++i) sums[i] += others[i];
    return add_vector(op, sums, weights.tensor >= 0);
  }
  const int32_t first = add_row(op, from, direction, 0, count);
  int32_t second = add_row(op, from, direction, count, summed);
  if (summed < count) {
    const Shape rest{1, count - summed};
    const int32_t zeros = add_constant(op.draft(), op.name() + "/zero", DType::kF32, rest,
                                       std::vector<float>(static_cast<size_t>(count - summed), 0.0f));
    const int32_t both = op.new_tensor({1, count});
    op.add(Op::kConcat, {second, zeros}, both).options.as<ConcatOptions>().axis = 1;
    second = both;
  }
  return add_binary(op, Op::kAdd, first, second);
}

int32_t add_no_bias(OnnxOp& op, int32_t count, const RecurrentWeights& weights) {
  if (weights.tensor >= 0) return -1;
  return add_constant(op.draft(), op.name() + "/zero", DType::kF32, {count},
                      std::vector<float>(static_cast<size_t>(count), 0.0f));
}

int32_t add_product(OnnxOp& op, int32_t x, int32_t weights, int32_t bias) {
  const bool is_constant = op.draft().tensor(weights).constant;
  const int32_t rows = op.draft().tensor(weights).shape[0];
  if (is_constant && op.draft().tensor(bias).constant) {
    const int32_t y = op.new_tensor({op.draft().tensor(x).shape[0], rows});
    op.add(Op::kFullyConnected, {x, weights, bias}, y);
    return y;
  }
  if (is_constant) op.draft().budget->check_numbers(rows);  // the product's own bias
  const int32_t y = add_matrix_product(op.draft(), op.name() + "/product", op.source(), x, weights, true);
  return bias < 0 ? y : add_binary(op, Op::kAdd, y, bias);
}

}  // namespace intaglio::importers
