// TFLite operators that take tensors apart and put them together.
#include <algorithm>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// Elements [first, first + count) of one axis into output `output`, of `shape`.
void add_part(TfliteOp& op, int32_t x, size_t axis, int32_t first, int32_t count, const Shape& shape,
              size_t output) {
  Shape part = op.draft().tensor(x).shape;
  std::vector<int32_t> begin(part.size(), 0);
  const std::vector<int32_t> strides(part.size(), 1);
  part[axis] = count;
  begin[axis] = first;
  const int32_t y = op.output_same(x, shape, output);
  if (part == shape) {
    DraftNode& node = op.add(Op::kStridedSlice, {x}, y);
    node.options.as<StridedSliceOptions>().begin = op.draft().list(begin);
    node.options.as<StridedSliceOptions>().strides = op.draft().list(strides);
  } else {
    const int32_t piece = add_slice(op.draft(), op.name() + "/piece", op.source(), x, begin, strides, part);
    op.add(Op::kReshape, {piece}, y);
  }
  op.finish_same();
}

void split(TfliteOp& op, int32_t x, int32_t given_axis, const std::vector<int64_t>& sizes) {
  op.allow_outputs();
  const Shape from = op.draft().tensor(x).shape;
  const auto axis = static_cast<size_t>(normal_axis(given_axis, from.size()));
  int64_t first = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > from[axis] - first) fail("its parts do not add up to ", from[axis]);
    Shape shape = from;
    shape[axis] = static_cast<int32_t>(sizes[i]);
    add_part(op, x, axis, static_cast<int32_t>(first), shape[axis], shape, i);
    first += sizes[i];
  }
  if (first != from[axis]) fail("its parts do not add up to ", from[axis]);
}

void import_concatenation(TfliteOp& op) {
  op.check_inputs(1, 64);
  const auto& options = op.options<tflite::ConcatenationOptions>();
  std::vector<int32_t> inputs;
  for (size_t i = 0; i < op.input_count(); ++i)
    if (!op.is_empty(i)) inputs.push_back(op.activation_or_constant(i));
  if (inputs.empty()) fail("its inputs have no elements");
  Shape shape = op.draft().tensor(inputs[0]).shape;
  const int32_t axis = normal_axis(options.axis(), shape.size());
  const auto at = static_cast<size_t>(axis);
  for (size_t i = 1; i < inputs.size(); ++i) {
    Shape other = op.draft().tensor(inputs[i]).shape;
    const int64_t sum = other.size() == shape.size() ? int64_t{shape[at]} + other[at] : 0;
    if (sum > 0) other[at] = shape[at];
    if (sum == 0 || other != shape)
      fail("its inputs have the shapes ", shape_text(shape), " and ",
           shape_text(op.draft().tensor(inputs[i]).shape), ", which do not fit along axis ", axis);
    shape[at] = narrow(sum, "dimension");
  }
  const int32_t y = op.output(shape);
  if (options.activation() != tflite::Activation::None) fail("a fused activation is not supported here");
  for (int32_t& input : inputs) {
    const DraftTensor info = op.draft().tensor(input);
    if (info.dtype != op.draft().tensor(y).dtype) fail("its inputs and output have different element types");
    if (info.dtype == DType::kF32 || info.same_quantization(op.draft().tensor(y))) continue;
    if (info.constant) fail("its constant input has another scale than its output");
    const int32_t same = add_activation_like(op.draft(), info.name + "/requantized", y, info.shape);
    add_requantize(op.draft(), op.name() + "/requantize", op.source(), input, same);
    input = same;
  }
  op.add(Op::kConcat, inputs, y).options.as<ConcatOptions>().axis = axis;
}

void import_strided_slice(TfliteOp& op) {
  op.check_inputs(4, 4);
  const int32_t x = op.activation(0);
  const TfliteSlice slice = read_tflite_strided_slice(op, op.draft().tensor(x).shape);
  const Shape out = at_least_1d(slice.squeezed);
  const int32_t y = op.output_same(x, out);
  if (out == slice.shape) {
    DraftNode& node = op.add(Op::kStridedSlice, {x}, y);
    node.options.as<StridedSliceOptions>().begin = op.draft().list(slice.begin);
    node.options.as<StridedSliceOptions>().strides = op.draft().list(slice.strides);
  } else {
    const int32_t piece =
        add_slice(op.draft(), op.name() + "/piece", op.source(), x, slice.begin, slice.strides, slice.shape);
    op.add(Op::kReshape, {piece}, y);
  }
  op.finish_same();
}

void import_split(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(1), axis = op.integer(0);
  const Shape& from = op.draft().tensor(x).shape;
  const int32_t dim = from[static_cast<size_t>(normal_axis(axis, from.size()))];
  const auto parts = static_cast<int64_t>(op.output_count());
  if (dim % parts != 0) fail("an axis of ", dim, " does not divide into ", parts, " parts");
  split(op, x, axis, std::vector<int64_t>(op.output_count(), dim / parts));
}

void import_split_v(TfliteOp& op) {
  op.check_inputs(3, 3);
  const int32_t x = op.activation(0), axis = op.integer(2);
  std::vector<int64_t> sizes = op.integers(1);
  if (sizes.size() != op.output_count())
    fail("it has ", sizes.size(), " sizes for ", op.output_count(), " outputs");
  const Shape& from = op.draft().tensor(x).shape;
  int64_t rest = from[static_cast<size_t>(normal_axis(axis, from.size()))];
  for (const int64_t size : sizes)
    if (size > 0) rest -= std::min(size, rest);
  const auto open = std::find(sizes.begin(), sizes.end(), -1);  // at most one takes what is left
  if (open != sizes.end()) *open = rest;
  split(op, x, axis, sizes);
}

void import_slice(TfliteOp& op) {
  op.check_inputs(3, 3);
  const int32_t x = op.activation(0);
  const Shape from = op.draft().tensor(x).shape;
  const TfliteSlice slice = read_tflite_slice(op, from);
  if (elements(slice.shape) == 0) {  // in front of a loop's first step, and behind its last one
    DraftTensor nothing;
    nothing.name = op.name();
    nothing.dtype = op.draft().tensor(x).dtype;
    nothing.shape = slice.shape;
    nothing.constant = true;
    return op.set_constant(std::move(nothing));
  }
  const int32_t y = op.output_same(x, slice.shape);
  DraftNode& node = op.add(Op::kStridedSlice, {x}, y);
  node.options.as<StridedSliceOptions>().begin = op.draft().list(slice.begin);
  node.options.as<StridedSliceOptions>().strides = op.draft().list(slice.strides);
  op.finish_same();
}

void import_pack(TfliteOp& op) {
  op.check_inputs(1, 64);
  const int32_t first = op.activation_or_constant(0);
  Shape shape = op.draft().tensor(first).shape;
  const Shape one = shape;
  const int32_t axis = normal_axis(op.options<tflite::PackOptions>().axis(), shape.size() + 1);
  shape.insert(shape.begin() + axis, static_cast<int32_t>(op.input_count()));
  Shape part = shape;
  part[static_cast<size_t>(axis)] = 1;
  const int32_t y = op.output(shape);
  std::vector<int32_t> inputs;
  for (size_t i = 0; i < op.input_count(); ++i) {
    const int32_t input = i == 0 ? first : op.activation_or_constant(i);
    const DraftTensor info = op.draft().tensor(input);
    if (info.shape != one)
      fail("its inputs have the shapes ", shape_text(one), " and ", shape_text(info.shape));
    if (info.dtype != op.draft().tensor(y).dtype || !info.same_quantization(op.draft().tensor(y)))
      fail("its inputs and output have different element types or scales");
    if (info.constant) op.draft().tensor(input).shape = part;
    inputs.push_back(
        info.constant ? input : add_reshape(op.draft(), info.name + "/packed", op.source(), input, part));
  }
  op.add(Op::kConcat, inputs, y).options.as<ConcatOptions>().axis = axis;
}

void import_unpack(TfliteOp& op) {
  op.check_inputs(1, 1);
  op.allow_outputs();
  const int32_t x = op.activation(0);
  const Shape from = op.draft().tensor(x).shape;
  const auto axis = static_cast<size_t>(normal_axis(op.options<tflite::UnpackOptions>().axis(), from.size()));
  if (static_cast<size_t>(from[axis]) != op.output_count())
    fail("it has ", op.output_count(), " outputs for an axis of ", from[axis]);
  Shape shape = from;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  if (shape.empty()) shape.push_back(1);
  for (size_t i = 0; i < op.output_count(); ++i) add_part(op, x, axis, static_cast<int32_t>(i), 1, shape, i);
}

constexpr TfliteOperator kTflitePiecesOperators[] = {
    {Builtin::CONCATENATION,
     import_concatenation,
     {Op::kConcat},
     "At most 64 inputs, without a fused activation."},
    {Builtin::PACK, import_pack, {Op::kReshape, Op::kConcat}, "At most 64 inputs, of one scale."},
    {Builtin::SLICE, import_slice, {Op::kStridedSlice}, "Begin and size are constants."},
    {Builtin::SPLIT, import_split, {Op::kStridedSlice}, "The axis is a constant."},
    {Builtin::SPLIT_V, import_split_v, {Op::kStridedSlice}, "Sizes and axis are constants."},
    {Builtin::STRIDED_SLICE,
     import_strided_slice,
     {Op::kStridedSlice},
     "Begin, end and strides are constants; without ellipsis, new axes and offsets."},
    {Builtin::UNPACK, import_unpack, {Op::kStridedSlice, Op::kReshape}, ""},
};

}  // namespace

TfliteSlice read_tflite_strided_slice(TfliteOp& op, const Shape& from) {
  const auto& options = op.options<tflite::StridedSliceOptions>();
  const auto first = op.integers(1), end = op.integers(2), step = op.integers(3);
  if (options.ellipsis_mask() != 0 || options.new_axis_mask() != 0 || options.offset())
    fail("ellipsis, new axes and offsets are not supported");
  if (first.size() > from.size() || end.size() != first.size() || step.size() != first.size())
    fail("its begin, end and strides do not fit ", shape_text(from));
  TfliteSlice slice;
  slice.begin.assign(from.size(), 0);
  slice.strides.assign(from.size(), 1);
  slice.shape = from;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t dim = from[i], bit = int64_t{1} << i;
    const bool given = i < first.size(), shrink = given && (options.shrink_axis_mask() & bit) != 0;
    if (given) {
      if (step[i] == 0 || step[i] < -dim * 2 - 2 || step[i] > INT32_MAX)
        fail("its stride ", step[i], " is not supported");
      const bool back = step[i] < 0;
      const int64_t low = back ? -1 : 0, high = back ? dim - 1 : dim;
      const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + dim : at, low, high); };
      int64_t from_index = (options.begin_mask() & bit) != 0 ? (back ? dim - 1 : 0) : place(first[i]);
      int64_t to_index = (options.end_mask() & bit) != 0 ? (back ? -1 : dim) : place(end[i]);
      if (shrink) {
        from_index = first[i] < 0 ? first[i] + dim : first[i];
        to_index = from_index + 1;
        if (from_index < 0 || from_index >= dim) fail("its index ", first[i], " does not exist in axis ", i);
      }
      const int64_t stride = shrink ? 1 : step[i], length = stride < 0 ? -stride : stride;
      const int64_t distance = stride < 0 ? from_index - to_index : to_index - from_index;
      if (distance <= 0) fail("it takes nothing of axis ", i, " of ", shape_text(from));
      slice.begin[i] = static_cast<int32_t>(from_index);
      slice.strides[i] = static_cast<int32_t>(stride);
      slice.shape[i] = static_cast<int32_t>((distance + length - 1) / length);
    }
    if (!shrink) slice.squeezed.push_back(slice.shape[i]);
  }
  return slice;
}

TfliteSlice read_tflite_slice(TfliteOp& op, const Shape& from) {
  const std::vector<int64_t> begin = op.integers(1), size = op.integers(2);
  if (begin.size() != from.size() || size.size() != from.size())
    fail("its begin and size do not fit ", shape_text(from));
  TfliteSlice slice;
  slice.strides.assign(from.size(), 1);
  for (size_t i = 0; i < from.size(); ++i) {
    if (begin[i] < 0 || begin[i] > from[i])
      fail("its begin ", begin[i], " lies outside axis ", i, " of ", shape_text(from));
    const int64_t count = size[i] == -1 ? from[i] - begin[i] : size[i];
    if (count < 0 || count > from[i] - begin[i])
      fail("its size ", size[i], " does not fit axis ", i, " of ", shape_text(from));
    slice.begin.push_back(static_cast<int32_t>(begin[i]));
    slice.shape.push_back(static_cast<int32_t>(count));
  }
  return slice;
}

Span<const TfliteOperator> tflite_pieces_operators() { return kTflitePiecesOperators; }

}  // namespace intaglio::importers
