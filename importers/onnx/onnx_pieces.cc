// ONNX operators that take tensors apart and put them together.
#include <algorithm>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// How many elements lie from `first` on, before `end`, with this step; all within `dim`.
void add_range(OnnxSlice& slice, size_t axis, int64_t first, int64_t end, int64_t step, int64_t dim) {
  if (step == 0) fail("its step of axis ", axis, " is 0");
  if (dim == 0) return;  // of a constant: nothing is taken of nothing
  if (first < 0) first += dim;
  if (end < 0) end += dim;
  const bool back = step < 0;
  first = std::clamp<int64_t>(first, 0, back ? dim - 1 : dim);
  end = std::clamp<int64_t>(end, back ? -1 : 0, back ? dim - 1 : dim);
  const int64_t stride = std::clamp<int64_t>(step, -dim, dim);  // a longer one leaves the axis as well
  const int64_t distance = back ? first - end : end - first, length = back ? -stride : stride;
  slice.begin[axis] = static_cast<int32_t>(first);
  slice.strides[axis] = static_cast<int32_t>(stride);
  slice.shape[axis] = static_cast<int32_t>(distance <= 0 ? 0 : (distance + length - 1) / length);
}

OnnxSlice whole(const Shape& shape) {
  return {std::vector<int32_t>(shape.size(), 0), std::vector<int32_t>(shape.size(), 1), shape};
}

// One piece of an axis, with the name of the output that it is.
int32_t piece(OnnxOp& op, int32_t x, size_t axis, int32_t first, int32_t count, int32_t step, int output) {
  OnnxSlice slice = whole(op.shape(x));
  slice.begin[axis] = first;
  slice.strides[axis] = step;
  slice.shape[axis] = count;
  return add_slice(op.result(output), x, slice.begin, slice.strides, slice.shape);
}

// Whether the indices are first, first + step, ...
bool is_progression(const std::vector<int32_t>& indices) {
  const int32_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (size_t i = 1; i < indices.size(); ++i)
    if (step == 0 || indices[i] - indices[i - 1] != step) return false;
  return true;
}

void import_slice(OnnxOp& op) {
  const int32_t x = op.activation_or_codes(0);
  const Shape from = op.shape(x);
  const OnnxSlice slice = read_onnx_slice(op, from);
  if (std::count(slice.shape.begin(), slice.shape.end(), 0) != 0)
    fail("it takes nothing of its input ", shape_text(from));
  if (slice.shape == from && slice.strides == whole(from).strides) return op.set_output(x);
  op.set_output(add_slice(op.result(), x, slice.begin, slice.strides, slice.shape));
}

void import_split(OnnxOp& op) {
  const int32_t x = op.activation_or_codes(0);
  const OnnxParts parts = read_onnx_parts(op, op.shape(x));
  int32_t first = 0;
  for (int i = 0; i < op.output_count(); ++i) {
    const int32_t count = parts.sizes[static_cast<size_t>(i)];
    if (!op.output_name(i).empty()) op.set_output(piece(op, x, parts.axis, first, count, 1, i), i);
    first += count;
  }
}

void import_concat(OnnxOp& op) {
  op.check_inputs(1, 64);
  std::vector<int32_t> inputs;
  for (int i = 0; i < op.input_count(); ++i) {
    if (op.is_constant(i)) {
      const OnnxConstant<float> constant = op.numbers(i);
      inputs.push_back(
          add_constant(op.draft(), op.input_name(i), DType::kF32, constant.shape, constant.values));
    } else {
      inputs.push_back(op.activation_or_codes(i));
    }
  }
  const int32_t axis = normal_axis(op.integer("axis", 1), op.shape(inputs[0]).size());
  std::vector<Shape> shapes{op.shape(inputs[0])};
  for (size_t i = 1; i < inputs.size(); ++i) {
    shapes.push_back(op.shape(inputs[i]));
    const DraftTensor& first = op.draft().tensor(inputs[0]);
    const DraftTensor& next = op.draft().tensor(inputs[i]);
    if (next.dtype != first.dtype || (first.dtype == DType::kS8 && !next.same_quantization(first)))
      fail("its inputs are not all float, or codes of one scale");
  }
  if (inputs.size() == 1) return op.set_output(inputs[0]);
  const int32_t y = op.new_tensor_like(inputs[0], joined_shape(shapes, axis));
  op.add(Op::kConcat, inputs, y).options.as<ConcatOptions>().axis = axis;
  op.set_output(y);
}

// By indices that a run computes, of a constant or an activation.
void gather_computed(OnnxOp& op) {
  int32_t x = -1;
  if (op.is_constant(0)) {
    const OnnxConstant<float> table = op.floats(0);
    x = add_constant(op.draft(), op.input_name(0), DType::kF32, table.shape, table.values);
  } else {
    x = op.activation_or_codes(0);
  }
  const int32_t axis = normal_axis(op.integer("axis", 0), op.shape(x).size());
  op.set_output(add_gather_by(op.result(), x, axis, op.index_activation(1)));
}

void import_gather(OnnxOp& op) {
  op.check_inputs(2, 2);
  if (!op.is_constant(1)) return gather_computed(op);
  const int32_t x = op.activation_or_codes(0);
  const Shape from = op.shape(x);
  const auto axis = static_cast<size_t>(normal_axis(op.integer("axis", 0), from.size()));
  const OnnxConstant<int64_t> given = op.integers(1);
  std::vector<int32_t> indices;
  for (const int64_t index : given.values) {
    if (index < -from[axis] || index >= from[axis])
      fail("its index ", index, " does not exist in axis ", axis, " of ", shape_text(from));
    indices.push_back(static_cast<int32_t>(index < 0 ? index + from[axis] : index));
  }
  if (indices.empty()) fail("it takes nothing of its input");
  const auto count = static_cast<int32_t>(indices.size());
  int32_t y = -1;
  if (is_progression(indices)) {
    y = piece(op, x, axis, indices[0], count, count > 1 ? indices[1] - indices[0] : 1, 0);
  } else {
    y = add_gather(op.result(), x, static_cast<int32_t>(axis), indices);
  }
  const Shape out = at_least_1d(gathered_shape(from, static_cast<int32_t>(axis), given.shape));
  check_shape(out, DType::kF32);
  op.set_output(add_reshape(op.result(), y, out));
}

constexpr OnnxOperator kOnnxPiecesOperators[] = {
    {"Concat", import_concat, {Op::kConcat}, "At most 64 inputs, of one type."},
    {"Gather",
     import_gather,
     {Op::kGather, Op::kStridedSlice},
     "Constant indices exist; what a run computes beyond the axis is the nearest index."},
    {"Slice", import_slice, {Op::kStridedSlice}, "Starts, ends, axes and steps are constants."},
    {"Split", import_split, {Op::kStridedSlice}, "Sizes are constants."},
};

}  // namespace

OnnxSlice read_onnx_slice(OnnxOp& op, const Shape& from) {
  const bool by_inputs = op.opset() >= 10;
  op.check_inputs(by_inputs ? 3 : 1, by_inputs ? 5 : 1);
  const auto list = [&](int input, const char* attribute) {
    if (!by_inputs) return op.integers(attribute);
    return op.has_input(input) ? op.integers(input).values : std::vector<int64_t>();
  };
  const auto first = list(1, "starts"), end = list(2, "ends");
  auto axes = list(3, "axes");
  const auto steps = by_inputs ? list(4, "") : std::vector<int64_t>();
  if (axes.empty())
    for (size_t i = 0; i < first.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (end.size() != first.size() || axes.size() != first.size() ||
      (!steps.empty() && steps.size() != first.size()))
    fail("its starts, ends, axes and steps have different lengths");
  OnnxSlice slice = whole(from);
  for (size_t i = 0; i < first.size(); ++i) {
    const auto axis = static_cast<size_t>(normal_axis(axes[i], from.size()));
    add_range(slice, axis, first[i], end[i], steps.empty() ? 1 : steps[i], from[axis]);
  }
  return slice;
}

OnnxParts read_onnx_parts(OnnxOp& op, const Shape& from) {
  op.check_inputs(1, op.opset() >= 13 ? 2 : 1);
  OnnxParts parts;
  parts.axis = static_cast<size_t>(normal_axis(op.integer("axis", 0), from.size()));
  const int64_t dim = from[parts.axis], outputs = op.output_count();
  std::vector<int64_t> sizes = op.has_input(1) ? op.integers(1).values : op.integers("split");
  if (op.integer("num_outputs", outputs) != outputs) fail("its num_outputs is not ", outputs);
  const int64_t equal = (dim + outputs - 1) / outputs;
  if (sizes.empty())
    for (int64_t i = 0; i < outputs; ++i) sizes.push_back(std::min(equal, dim - i * equal));
  if (static_cast<int64_t>(sizes.size()) != outputs)
    fail("it has ", sizes.size(), " sizes for ", outputs, " outputs");
  int64_t rest = dim;
  for (const int64_t size : sizes) {
    if (size < 1 || size > rest) fail("its parts do not add up to ", dim);
    parts.sizes.push_back(static_cast<int32_t>(size));
    rest -= size;
  }
  if (rest != 0) fail("its parts do not add up to ", dim);
  return parts;
}

Span<const OnnxOperator> onnx_pieces_operators() { return kOnnxPiecesOperators; }

}  // namespace intaglio::importers
