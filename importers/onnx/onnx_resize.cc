// ONNX Resize and Upsample: pictures at another size.
#include <cmath>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

Interpolation interpolation_of(const std::string& mode) {
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "linear" || mode == "bilinear") return Interpolation::kBilinear;
  fail("mode ", quoted(mode), " is not supported; nearest and linear are");
}

// Sizes of all four axes, from scales or from the sizes themselves.
Shape sizes_from(const std::vector<float>& scales, const Shape& from, const ResizeOptions& resample) {
  if (scales.size() != 4) fail("it has ", scales.size(), " scales; 4 are expected");
  Shape to;
  for (size_t i = 0; i < 4; ++i) {
    const double size = double{scales[i]} * from[i];
    if (!(size >= 1.0 && size < 1 << 30)) fail("its scale ", scales[i], " does not fit ", shape_text(from));
    const double rounded = std::floor(size + 1e-4);
    const bool exact = std::fabs(size - rounded) <= 1e-3;
    if (!exact && resample.coordinates != Coordinates::kAlignCorners)
      fail("its scale ", scales[i], " makes ", from[i], " to ", size,
           ", no whole number; only whole sizes are supported");
    to.push_back(static_cast<int32_t>(rounded));
  }
  return to;
}

void add_resize(OnnxOp& op, const Shape& to, const ResizeOptions& resample) {
  const int32_t input = op.activation_or_codes(0);
  const Shape from = op.draft().tensor(input).shape;
  if (to[0] != from[0] || to[1] != from[1])
    fail("it resizes ", shape_text(from), " to ", shape_text(to),
         "; only height and width (the last two axes) may change");
  if (to == from) return op.set_output(input);
  const int32_t x = op.nhwc(input);
  const int32_t y = op.new_tensor_like(x, permuted(to, kToNhwc));
  op.add(Op::kResize, {x}, y).options.as<ResizeOptions>() = resample;
  op.set_nhwc_output(y);
}

Shape picture_shape(OnnxOp& op) {
  Shape shape = op.draft().tensor(op.activation_or_codes(0)).shape;
  if (shape.size() != 4)
    fail("its input has the shape ", shape_text(shape),
         "; only pictures [batch, channels, height, width] are supported");
  return shape;
}

NearestRounding rounding_of(const std::string& mode) {
  if (mode == "round_prefer_floor") return NearestRounding::kHalfDown;
  if (mode == "round_prefer_ceil") return NearestRounding::kHalfUp;
  if (mode == "floor") return NearestRounding::kFloor;
  if (mode == "ceil") return NearestRounding::kCeil;
  fail("nearest_mode ", quoted(mode), " is not known");
}

Coordinates coordinates_of(const std::string& mode) {
  if (mode == "half_pixel" || mode == "pytorch_half_pixel") return Coordinates::kHalfPixel;
  if (mode == "align_corners") return Coordinates::kAlignCorners;
  if (mode == "asymmetric") return Coordinates::kAsymmetric;
  fail("coordinate_transformation_mode ", quoted(mode),
       " is not supported; half_pixel, pytorch_half_pixel, align_corners and asymmetric are");
}

// All four scales or sizes, where the file may give those of some axes only.
template <typename T>
std::vector<T> of_all_axes(OnnxOp& op, const std::vector<T>& given, std::vector<T> all) {
  const auto axes = op.integers("axes");
  if (axes.empty()) return given;
  if (given.size() != axes.size()) fail("it has ", given.size(), " values for ", axes.size(), " axes");
  for (size_t i = 0; i < axes.size(); ++i) all[static_cast<size_t>(normal_axis(axes[i], 4))] = given[i];
  return all;
}

void import_upsample(OnnxOp& op) {
  op.check_inputs(1, 2);
  const ResizeOptions resample{interpolation_of(op.string("mode", "nearest")), Coordinates::kAsymmetric,
                               NearestRounding::kFloor};
  const std::vector<float> scales = op.opset() >= 9 ? op.floats(1).values : op.reals("scales");
  add_resize(op, sizes_from(scales, picture_shape(op), resample), resample);
}

void import_resize(OnnxOp& op) {
  if (op.opset() < 11) return import_upsample(op);
  op.check_inputs(1, 4);
  const Shape from = picture_shape(op);
  const std::string coordinates = op.string("coordinate_transformation_mode", "half_pixel");
  ResizeOptions resample{interpolation_of(op.string("mode", "nearest")), coordinates_of(coordinates),
                         rounding_of(op.string("nearest_mode", "round_prefer_floor"))};
  if (resample.interpolation == Interpolation::kBilinear) resample.rounding = NearestRounding::kFloor;
  for (const char* name : {"cubic_coeff_a", "exclude_outside", "extrapolation_value"}) op.ignore(name);
  if (op.integer("antialias", 0) != 0) fail("antialias is not supported");
  if (op.string("keep_aspect_ratio_policy", "stretch") != "stretch")
    fail("only the keep_aspect_ratio_policy stretch is supported");
  Shape to;
  if (op.has_input(3)) {
    const auto sizes = of_all_axes(op, op.integers(3).values, std::vector<int64_t>(from.begin(), from.end()));
    if (sizes.size() != 4) fail("it has ", sizes.size(), " sizes; 4 are expected");
    for (const int64_t size : sizes) to.push_back(narrow(size, "size"));
    check_shape(to, DType::kF32);
  } else {
    to = sizes_from(of_all_axes(op, op.floats(2).values, {1, 1, 1, 1}), from, resample);
  }
  const bool one = (to[2] == 1 && from[2] > 1) || (to[3] == 1 && from[3] > 1);
  if (one && coordinates == "pytorch_half_pixel") fail("pytorch_half_pixel to a size of 1 is not supported");
  add_resize(op, to, resample);
}

constexpr OnnxOperator kOperators[] = {
    {"Resize",
     import_resize,
     {Op::kResize},
     "Height and width of rank 4, nearest or linear, to a constant size; without antialias and tf_crop_and_resize."},
    {"Upsample",
     import_upsample,
     {Op::kResize},
     "Height and width of rank 4, nearest or linear, by constant scales."},
};

}  // namespace

Span<const OnnxOperator> onnx_resize_operators() { return kOperators; }

}  // namespace intaglio::importers
