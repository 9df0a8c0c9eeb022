// ONNX operators that give or take integers: indices, positions, one-hot rows, and casts. Integers that a run computes
// with are FP32 here, which is exact up to 2^24; indices are s32.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

using Type = onnx_file::TensorProto;

// The numbers of int8 codes that the file has as plain integers.
int32_t plain_numbers(OnnxOp& op, int32_t x) {
  const DraftTensor info = op.draft().tensor(x);
  if (info.dtype != DType::kS8) return x;
  if (!op.is_integer(0) || info.scales != std::vector<float>{1.0f})
    fail("it casts quantized codes; a DequantizeLinear must stand between");
  const int32_t y = add_activation(op.draft(), op.output_name() + "/numbers", DType::kF32, info.shape);
  op.add(Op::kDequantize, {x}, y);
  return y;
}

// The element type of CastLike's second input.
int64_t type_like(OnnxOp& op) {
  if (op.is_constant(1)) return op.type_of_constant(1);
  op.any_activation(1);
  if (op.is_truth(1)) return Type::BOOL;
  return op.is_integer(1) ? Type::INT64 : Type::FLOAT;
}

// CastLike of a constant, by the type of an activation.
void cast_constant(OnnxOp& op, int64_t to) {
  const OnnxConstant<float> numbers = op.numbers(0);
  if (is_onnx_real(to)) return op.set_floats(numbers);
  OnnxConstant<int64_t> integers{numbers.shape, {}};
  if (to == Type::BOOL) {
    for (const float number : numbers.values) integers.values.push_back(number != 0.0f ? 1 : 0);
    return op.set_codes(integers, Type::BOOL);
  }
  for (const float number : numbers.values) {
    if (!(std::fabs(number) <= 16777216.0f)) fail("it casts ", number, " to an integer");
    integers.values.push_back(static_cast<int64_t>(number));
  }
  op.set_integers(integers);
}

void import_cast(OnnxOp& op) {
  op.check_inputs(1, op.source() == "CastLike" ? 2 : 1);
  const int64_t to = op.source() == "CastLike" ? type_like(op) : op.integer("to", 0);
  op.ignore("saturate");
  op.ignore("round_mode");
  if (op.is_constant(0) && !op.all_constant()) return cast_constant(op, to);
  const int32_t x = plain_numbers(op, op.any_activation(0));
  const bool from_integer = op.is_integer(0);
  if (is_onnx_real(to)) {
    op.set_output(op.as_real(x), 0, false);
    if (from_integer || op.is_truth(0)) op.note_whole();
    return;
  }
  const bool is_small = to == Type::INT8 || to == Type::UINT8 || to == Type::INT16 || to == Type::UINT16;
  if (to == Type::INT32 || to == Type::INT64 || is_small)
    return op.set_output(from_integer ? x : op.as_index(x), 0, true);
  if (to != Type::BOOL)
    fail("it casts an activation to ", onnx_type_name(to),
         "; float, integers of up to 64 bits with a sign, uint8, uint16 and bool are supported");
  op.set_output(add_truth(op, op.as_real(x)), 0, false);
  op.note_truth();
}

void import_arg_max(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation_or_codes(0);
  TopKOptions options;
  options.axis = normal_axis(op.integer("axis", 0), op.shape(x).size());
  options.smallest = op.source() == "ArgMin";
  options.last_of_equal = op.integer("select_last_index", 0) != 0;
  const bool keep = op.integer("keepdims", 1) != 0;
  op.set_output(add_index_of_greatest(op.result(), x, options, keep), 0, true);
}

int32_t gathered_elements(OnnxOp& op, const std::string& name, int32_t x, int32_t axis, int32_t indices) {
  const int32_t y = add_activation_like(op.draft(), name, x, op.shape(indices));
  op.add(Op::kGatherElements, {x, indices}, y).options.as<GatherOptions>().axis = axis;
  return y;
}

void import_top_k(OnnxOp& op) {
  op.check_inputs(op.opset() >= 10 ? 2 : 1, op.opset() >= 10 ? 2 : 1);
  const int32_t x = op.activation_or_codes(0);
  TopKOptions options;
  options.axis = normal_axis(op.integer("axis", -1), op.shape(x).size());
  options.smallest = op.integer("largest", 1) == 0;
  op.ignore("sorted");  // sorted is one order of those that it leaves open
  std::vector<int64_t> k{op.integer("k", 0)};
  if (op.has_input(1)) k = op.integers(1).values;
  if (k.size() != 1) fail("its k must be one number, it has ", k.size());
  const bool has_values = !op.output_name(0).empty(), has_indices = op.output_count() > 1;
  const std::string name =
      has_indices && !op.output_name(1).empty() ? op.output_name(1) : op.name() + "/indices";
  const int32_t indices = add_top_k(op.named(name), x, options, narrow(k[0], "k"));
  if (has_values)
    op.set_output(gathered_elements(op, op.output_name(0), x, options.axis, indices), 0, op.is_integer(0));
  if (has_indices) op.set_output(indices, 1, true);
}

void import_gather_elements(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.is_constant(0) ? op.activation_or_numbers(0) : op.activation_or_codes(0);
  const Shape from = op.shape(x);
  const int32_t axis = normal_axis(op.integer("axis", 0), from.size());
  int32_t indices = -1;
  if (op.is_constant(1)) {
    const OnnxConstant<int64_t> given = op.integers(1);
    std::vector<int32_t> narrowed;
    for (const int64_t index : given.values) narrowed.push_back(narrow(index, "index"));
    indices = add_constant(op.draft(), op.input_name(1), DType::kS32, given.shape, narrowed);
  } else {
    indices = op.index_activation(1);
  }
  Shape expected = op.shape(indices);
  if (expected.size() == from.size()) expected[static_cast<size_t>(axis)] = from[static_cast<size_t>(axis)];
  if (expected != from)
    fail("its indices ", shape_text(op.shape(indices)), " differ from its input ", shape_text(from),
         " in more than axis ", axis);
  op.set_output(gathered_elements(op, op.output_name(), x, axis, indices));
}

void import_one_hot(OnnxOp& op) {
  op.check_inputs(3, 3);
  const int32_t indices = op.as_index(op.any_activation(0));
  Shape shape = op.shape(indices);
  const std::vector<float> depth = op.numbers(1).values, values = op.numbers(2).values;
  if (depth.size() != 1 || !(depth[0] >= 1.0f && depth[0] <= 16777216.0f))
    fail("its depth must be one number from 1 to 16777216");
  if (values.size() != 2) fail("its values must be two numbers, off and on; it has ", values.size());
  const int32_t axis = normal_axis(op.integer("axis", -1), shape.size() + 1);
  shape.insert(shape.begin() + axis, static_cast<int32_t>(depth[0]));
  const int32_t y = op.new_tensor(shape);
  op.add(Op::kOneHot, {indices}, y).options.as<OneHotOptions>() = {axis, values[1], values[0], true};
  op.set_output(y, 0, !op.is_constant_of_reals(2));
  if (op.is_truth(2)) op.note_truth();
}

constexpr OnnxOperator kOnnxIntegerOperators[] = {
    {"ArgMax", import_arg_max, {Op::kTopK, Op::kReshape}, "Gives int32."},
    {"ArgMin", import_arg_max, {Op::kTopK, Op::kReshape}, "Gives int32."},
    {"Cast",
     import_cast,
     {Op::kCast, Op::kDequantize, Op::kEqual, Op::kSub},
     "To float, bool, int32 and int64, which is int32 here."},
    {"CastLike",
     import_cast,
     {Op::kCast, Op::kDequantize, Op::kEqual, Op::kSub},
     "As Cast; an activation's integers are int64."},
    {"GatherElements",
     import_gather_elements,
     {Op::kGatherElements},
     "Indices have the input's shape but for the axis; one beyond the axis is the nearest."},
    {"OneHot", import_one_hot, {Op::kOneHot}, "Depth and values are constants."},
    {"TopK", import_top_k, {Op::kTopK, Op::kGatherElements}, "k is a constant. Indices are int32."},
};

}  // namespace

Span<const OnnxOperator> onnx_integer_operators() { return kOnnxIntegerOperators; }

}  // namespace intaglio::importers
