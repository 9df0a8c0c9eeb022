// TFLite operators that take tensors apart, put them together or resize them.
#include <algorithm>

#include "importers/quantized_tables.h"
#include "importers/tflite_handlers.h"

namespace intaglio::importers {
namespace {

void import_resize(TfliteOp& op, Resample resample, bool align_corners, bool half_pixel) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape from = op.draft().tensor(x).shape;
  const std::vector<int64_t> size = op.integers(1);  // height, width
  if (from.size() != 4 || size.size() != 2)
    fail("its input ", shape_text(from), " is no picture, or its size is not two numbers");
  if (align_corners && half_pixel) fail("align_corners with half_pixel_centers is not supported");
  resample.coordinates = align_corners ? Coordinates::kAlignCorners
                         : half_pixel  ? Coordinates::kHalfPixel
                                       : Coordinates::kAsymmetric;
  if (resample.interpolation == Interpolation::kNearest && (align_corners || half_pixel))
    resample.rounding = NearestRounding::kHalfUp;
  const Shape to{from[0], narrow(size[0], "height"), narrow(size[1], "width"), from[3]};
  const int32_t y = op.output_same(x, to);
  op.add(Op::kResize, {x}, y).resample = resample;
  op.finish_same();
}

}  // namespace

void import_tflite_resize_bilinear(TfliteOp& op) {
  const auto& options = op.options<tflite::ResizeBilinearOptions>();
  import_resize(op, {Interpolation::kBilinear}, options.align_corners(), options.half_pixel_centers());
}

void import_tflite_resize_nearest_neighbor(TfliteOp& op) {
  const auto& options = op.options<tflite::ResizeNearestNeighborOptions>();
  import_resize(op, {Interpolation::kNearest}, options.align_corners(), options.half_pixel_centers());
}

void import_tflite_concatenation(TfliteOp& op) {
  op.check_inputs(1, 64);
  const auto& options = op.options<tflite::ConcatenationOptions>();
  std::vector<int32_t> inputs;
  for (size_t i = 0; i < op.input_count(); ++i) inputs.push_back(op.activation_or_constant(i));
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
  op.add(Op::kConcat, inputs, y).axis = axis;
}

void import_tflite_strided_slice(TfliteOp& op) {
  op.check_inputs(4, 4);
  const auto& options = op.options<tflite::StridedSliceOptions>();
  const int32_t x = op.activation(0);
  const Shape from = op.draft().tensor(x).shape;
  const auto first = op.integers(1), end = op.integers(2), step = op.integers(3);
  if (options.ellipsis_mask() != 0 || options.new_axis_mask() != 0 || options.offset())
    fail("ellipsis, new axes and offsets are not supported");
  if (first.size() > from.size() || end.size() != first.size() || step.size() != first.size())
    fail("its begin, end and strides do not fit ", shape_text(from));
  std::vector<int32_t> begin(from.size(), 0), strides(from.size(), 1);
  Shape shape = from, out;
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
      begin[i] = static_cast<int32_t>(from_index);
      strides[i] = static_cast<int32_t>(stride);
      shape[i] = static_cast<int32_t>((distance + length - 1) / length);
    }
    if (!shrink) out.push_back(shape[i]);
  }
  if (out.empty()) out.push_back(1);
  const int32_t y = op.output_same(x, out);
  if (out == shape) {
    DraftNode& node = op.add(Op::kStridedSlice, {x}, y);
    node.begin = begin;
    node.strides = strides;
  } else {
    const int32_t piece = add_slice(op.draft(), op.name() + "/piece", op.source(), x, begin, strides, shape);
    op.add(Op::kReshape, {piece}, y);
  }
  op.finish_same();
}

}  // namespace intaglio::importers
