// TFLite operators that move data or change its shape, that take tensors apart and put them together.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// The file has the output's shape for the shapes that its inputs have there.
void add_new_shape(TfliteOp& op, int32_t x, const Shape& in_file) {
  const Shape shape = at_least_1d(in_file);
  check_shape(shape, op.draft().tensor(x).dtype);
  const int64_t from = elements(op.shape(x));
  if (from != elements(shape))
    fail("its input of ", from, " elements does not fit its output ", shape_text(shape));
  op.set_moved(x, x, shape);
}

// With other inputs: an axis of -1 takes what is left, or the first one does.
Shape shape_for_other_inputs(TfliteOp& op, Shape shape, int64_t from) {
  int32_t* open = shape.empty() ? nullptr : &shape[0];
  if (op.input_count() > 1 && op.is_constant(1)) {
    shape.clear();
    for (const int64_t dim : op.integers(1)) shape.push_back(narrow(dim, "dimension"));
    open = shape.empty() ? nullptr : &shape[0];
    for (int32_t& dim : shape)
      if (dim == -1) open = &dim;
  }
  if (open == nullptr) return shape;
  const int32_t own = *open;
  *open = 1;
  const int64_t others = elements(shape);
  *open = others > 0 && from % others == 0 ? narrow(from / others, "dimension") : own;
  return shape;
}

// Whether the file's shape of the output is that of its elements. A converter records 1 for axes that it left open, also where other
// axes of the tensor follow from them.
bool has_shape_in_file(TfliteOp& op, int32_t x) {
  return !op.shapes_changed() && elements(op.output_shape_in_file()) == elements(op.shape(x));
}

void import_reshape(TfliteOp& op) {
  op.check_inputs(1, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.output_shape_in_file();
  add_new_shape(op, x,
                has_shape_in_file(op, x) ? shape : shape_for_other_inputs(op, shape, elements(op.shape(x))));
}

void import_expand_dims(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  if (has_shape_in_file(op, x)) return add_new_shape(op, x, op.output_shape_in_file());
  Shape shape = op.shape(x);
  const std::vector<int64_t> axis = op.integers(1);
  if (axis.size() != 1) fail("its axis must be one number, it has ", axis.size());
  shape.insert(shape.begin() + normal_axis(axis[0], shape.size() + 1), 1);
  add_new_shape(op, x, shape);
}

void import_squeeze(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  if (has_shape_in_file(op, x)) return add_new_shape(op, x, op.output_shape_in_file());
  const Shape from = op.shape(x);
  std::vector<int64_t> given;
  if (const auto* const options = op.options_or_null<tflite::SqueezeOptions>())
    if (options->axes() != nullptr) given.assign(options->axes()->begin(), options->axes()->end());
  const std::vector<int32_t> axes = normal_axes(given, from.size());
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 ||
        (!axes.empty() && std::find(axes.begin(), axes.end(), static_cast<int32_t>(d)) == axes.end()))
      shape.push_back(from[d]);
  add_new_shape(op, x, shape);
}

void import_transpose(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  Permutation permutation;
  for (const int64_t axis : op.integers(1)) permutation.push_back(narrow(axis, "axis"));
  const Shape shape = op.shape(x);
  check_permutation(permutation, shape.size());
  const int32_t y = op.output_same(x, permuted(shape, permutation));
  op.add(Op::kTranspose, {x}, y).options.as<TransposeOptions>().permutation = op.draft().list(permutation);
  op.finish_same();
}

void import_pad(TfliteOp& op) {  // PADV2 too: the value is input 2
  op.check_inputs(2, 3);
  const int32_t x = op.activation(0);
  float value = 0.0f;
  if (op.has_input(2)) {
    const auto values = values_of<float>(dequantized(op.constant(2)));
    if (values.size() != 1 || std::isnan(values[0])) fail("its padding value must be one number");
    value = values[0];
  }
  const std::vector<int64_t> pads = op.integers(1);  // [rank, 2]
  const Shape shape = op.shape(x);
  if (pads.size() != 2 * shape.size())
    fail("its paddings hold ", pads.size(), " values for rank ", shape.size());
  std::vector<int32_t> pads_before, pads_after;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t before = pads[2 * i], after = pads[2 * i + 1];
    constexpr int64_t kMost = 1 << 20;
    if (before < 0 || after < 0 || before > kMost || after > kMost)
      fail("padding ", before < 0 || before > kMost ? before : after, " is not allowed (0 to ", kMost, ")");
    pads_before.push_back(static_cast<int32_t>(before));
    pads_after.push_back(static_cast<int32_t>(after));
  }
  const int32_t y = op.output_same(x, padded_shape(shape, pads_before, pads_after));
  add_pad(op.origin(), x, pads_before, pads_after, y, value);
  op.finish_same();
}

// The slice, of the shape `part`, as output `output` of `shape`.
void set_slice(TfliteOp& op, int32_t x, const std::vector<int32_t>& begin,
               const std::vector<int32_t>& strides, const Shape& part, const Shape& shape,
               size_t output = 0) {
  const int32_t y = op.output_same(x, shape, output);
  if (part == shape)
    add_slice_into(op.origin(), x, begin, strides, y);
  else
    op.add(Op::kReshape, {add_slice(op.part("/piece"), x, begin, strides, part)}, y);
  op.finish_same();
}

// Elements [first, first + count) of one axis into output `output`, of `shape`.
void add_part(TfliteOp& op, int32_t x, size_t axis, int32_t first, int32_t count, const Shape& shape,
              size_t output) {
  Shape part = op.shape(x);
  std::vector<int32_t> begin(part.size(), 0);
  const std::vector<int32_t> strides(part.size(), 1);
  part[axis] = count;
  begin[axis] = first;
  set_slice(op, x, begin, strides, part, shape, output);
}

void split(TfliteOp& op, int32_t x, int32_t given_axis, const std::vector<int64_t>& sizes) {
  op.allow_outputs();
  const Shape from = op.shape(x);
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
  const int32_t axis = normal_axis(options.axis(), op.shape(inputs[0]).size());
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const int32_t input : inputs) shapes.push_back(op.shape(input));
  const int32_t y = op.output(joined_shape(shapes, axis));
  if (options.activation() != tflite::Activation::None) fail("a fused activation is not supported here");
  for (int32_t& input : inputs) {
    if (op.draft().tensor(input).dtype != op.draft().tensor(y).dtype)
      fail("its inputs and output have different element types");
    input = with_scale_of(op, input, y);
  }
  op.add(Op::kConcat, inputs, y).options.as<ConcatOptions>().axis = axis;
}

void import_strided_slice(TfliteOp& op) {
  op.check_inputs(4, 4);
  const int32_t x = op.activation(0);
  const TfliteSlice slice = read_tflite_strided_slice(op, op.shape(x));
  set_slice(op, x, slice.begin, slice.strides, slice.shape, at_least_1d(slice.squeezed));
}

void import_split(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(1), axis = op.integer(0);
  const Shape& from = op.shape(x);
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
  const Shape& from = op.shape(x);
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
  const Shape from = op.shape(x);
  const TfliteSlice slice = read_tflite_slice(op, from);
  if (elements(slice.shape) == 0) {  // in front of a loop's first step, and behind its last one
    DraftTensor nothing;
    nothing.name = op.name();
    nothing.dtype = op.draft().tensor(x).dtype;
    nothing.shape = slice.shape;
    nothing.constant = true;
    return op.set_constant(std::move(nothing));
  }
  set_slice(op, x, slice.begin, slice.strides, slice.shape, slice.shape);
}

void import_pack(TfliteOp& op) {
  op.check_inputs(1, 64);
  const int32_t first = op.activation_or_constant(0);
  Shape shape = op.shape(first);
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
    if (info.constant) op.shape(input) = part;
    inputs.push_back(info.constant ? input : add_reshape(op.named(info.name + "/packed"), input, part));
  }
  op.add(Op::kConcat, inputs, y).options.as<ConcatOptions>().axis = axis;
}

void import_unpack(TfliteOp& op) {
  op.check_inputs(1, 1);
  op.allow_outputs();
  const int32_t x = op.activation(0);
  const Shape from = op.shape(x);
  const auto axis = static_cast<size_t>(normal_axis(op.options<tflite::UnpackOptions>().axis(), from.size()));
  if (static_cast<size_t>(from[axis]) != op.output_count())
    fail("it has ", op.output_count(), " outputs for an axis of ", from[axis]);
  Shape shape = from;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  if (shape.empty()) shape.push_back(1);
  for (size_t i = 0; i < op.output_count(); ++i) add_part(op, x, axis, static_cast<int32_t>(i), 1, shape, i);
}

constexpr TfliteOperator kTfliteShapeOperators[] = {
    {Builtin::CONCATENATION,
     import_concatenation,
     {Op::kConcat},
     "At most 64 inputs, without a fused activation."},
    {Builtin::EXPAND_DIMS, import_expand_dims, {Op::kReshape}, ""},
    {Builtin::PACK, import_pack, {Op::kReshape, Op::kConcat}, "At most 64 inputs, of one scale."},
    {Builtin::PAD, import_pad, {Op::kPad}, "Paddings are constants."},
    {Builtin::PADV2, import_pad, {Op::kPad}, "Paddings and the value are constants."},
    {Builtin::RESHAPE, import_reshape, {Op::kReshape}, "The file holds the output's shape."},
    {Builtin::SLICE, import_slice, {Op::kStridedSlice}, "Begin and size are constants."},
    {Builtin::SPLIT, import_split, {Op::kStridedSlice}, "The axis is a constant."},
    {Builtin::SPLIT_V, import_split_v, {Op::kStridedSlice}, "Sizes and axis are constants."},
    {Builtin::SQUEEZE, import_squeeze, {Op::kReshape}, ""},
    {Builtin::STRIDED_SLICE,
     import_strided_slice,
     {Op::kStridedSlice},
     "Begin, end and strides are constants; without ellipsis, new axes and offsets."},
    {Builtin::TRANSPOSE, import_transpose, {Op::kTranspose}, "The permutation is a constant."},
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

Span<const TfliteOperator> tflite_shape_operators() { return kTfliteShapeOperators; }

}  // namespace intaglio::importers
