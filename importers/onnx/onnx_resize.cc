// ONNX Resize and Upsample. What the runtime's Resize does of height and width is one, or two for three dimensions. All else goes
// along one axis after the other: nearest picks elements by indices, the rest is a product with constant weights.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_resample.h"

namespace intaglio::importers {
namespace {

Interpolation interpolation_of(const std::string& mode) {
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "linear" || mode == "bilinear") return Interpolation::kBilinear;
  fail("mode ", quoted(mode), " is not known");
}

NearestRounding rounding_of(const std::string& mode) {
  if (mode == "round_prefer_floor") return NearestRounding::kHalfDown;
  if (mode == "round_prefer_ceil") return NearestRounding::kHalfUp;
  if (mode == "floor") return NearestRounding::kFloor;
  if (mode == "ceil") return NearestRounding::kCeil;
  fail("nearest_mode ", quoted(mode), " is not known");
}

// What a Resize asks for: along each axis, and in common.
struct Request {
  Shape from;
  std::vector<ResampledAxis> axes;
  Resampling how;
};

// Whether the runtime's Resize computes this axis.
bool is_plain(const ResampledAxis& axis, const Resampling& how) {
  if (how.mode == "cubic" || how.antialias) return false;
  const bool is_known = how.coordinates == "half_pixel" || how.coordinates == "asymmetric" ||
                        how.coordinates == "align_corners" || how.coordinates == "pytorch_half_pixel";
  if (!is_known || (how.coordinates == "pytorch_half_pixel" && axis.to == 1 && axis.from > 1)) return false;
  return how.coordinates == "align_corners" ||
         std::fabs(static_cast<double>(axis.scale) * axis.from - axis.to) <= 1e-3;
}

ResizeOptions options_of(const Resampling& how) {
  ResizeOptions options{interpolation_of(how.mode), Coordinates::kHalfPixel, rounding_of(how.nearest)};
  if (how.coordinates == "align_corners") options.coordinates = Coordinates::kAlignCorners;
  if (how.coordinates == "asymmetric") options.coordinates = Coordinates::kAsymmetric;
  if (options.interpolation == Interpolation::kBilinear) options.rounding = NearestRounding::kFloor;
  return options;
}

// The last two axes of [n, channels, height, width].
int32_t add_picture_resize(OnnxOp& op, int32_t x, int32_t height, int32_t width, const Resampling& how) {
  const int32_t picture = op.nhwc(x);
  const Shape from = op.draft().tensor(picture).shape;
  if (from[1] == height && from[2] == width) return x;
  const int32_t y = op.new_tensor_like(picture, {from[0], height, width, from[3]});
  op.add(Op::kResize, {picture}, y).options.as<ResizeOptions>() = options_of(how);
  return add_transpose(op.draft(), op.output_name(), op.source(), y, kToNchw);
}

int32_t reshaped(OnnxOp& op, int32_t x, const Shape& shape) {
  return add_reshape(op.draft(), op.output_name(), op.source(), x, shape);
}

// One, two or three dimensions behind batch and channels.
int32_t add_plain_resize(OnnxOp& op, int32_t x, const Request& request) {
  const Shape& from = request.from;
  const auto to = [&](size_t i) { return request.axes[i].to; };
  const size_t rank = from.size();
  const int32_t height = rank == 3 ? 1 : from[rank - 2], width = from[rank - 1];
  const int32_t to_height = rank == 3 ? 1 : to(rank - 2), to_width = to(rank - 1);
  const int32_t planes = rank == 5 ? from[1] * from[2] : from[1];
  int32_t y = reshaped(op, x, {from[0], planes, height, width});
  y = add_picture_resize(op, y, to_height, to_width, request.how);
  if (rank == 5) {
    const int32_t area = to_height * to_width;
    y = add_picture_resize(op, reshaped(op, y, {from[0], from[1], from[2], area}), to(2), area, request.how);
  }
  Shape shape;
  for (const ResampledAxis& axis : request.axes) shape.push_back(axis.to);
  return reshaped(op, y, shape);
}

// Along one axis: each output is a sum of inputs by constant weights.
int32_t add_weighted(OnnxOp& op, int32_t x, int64_t axis, const ResampledAxis& along, const Resampling& how) {
  const ResampledWeights w = resampled_weights(op.draft(), along, how);
  return op.along_last_axis(x, axis, [&](int32_t rows) {
    Shape shape = op.draft().tensor(rows).shape;
    const auto count = static_cast<int32_t>(elements(shape) / along.from);
    const int32_t weights =
        add_constant(op.draft(), op.name() + "/weights", DType::kF32, {along.to, along.from}, w.weights);
    const int32_t bias = add_constant(op.draft(), op.name() + "/outside", DType::kF32, {along.to}, w.added);
    const int32_t y = op.new_tensor({count, along.to});
    op.add(Op::kFullyConnected, {reshaped(op, rows, {count, along.from}), weights, bias}, y);
    shape.back() = along.to;
    return reshaped(op, y, shape);
  });
}

int32_t add_resize(OnnxOp& op, const Request& request) {
  int32_t x = op.activation_or_codes(0);
  const size_t rank = request.from.size();
  bool plain = rank >= 3 && rank <= 5 && request.axes[0].is_same() && request.axes[1].is_same();
  for (const ResampledAxis& axis : request.axes)
    plain = plain && (axis.is_same() || is_plain(axis, request.how));
  if (plain) return add_plain_resize(op, x, request);
  const bool crops = request.how.coordinates == "tf_crop_and_resize";
  const bool picks = request.how.mode == "nearest" && !crops;
  const int32_t codes = op.draft().tensor(x).dtype == DType::kS8 && !picks ? x : -1;  // weighted as reals
  if (codes >= 0) {
    x = op.new_tensor(request.from);
    op.add(Op::kDequantize, {codes}, x);
  }
  for (size_t i = 0; i < rank; ++i) {
    const ResampledAxis& axis = request.axes[i];
    if (axis.is_same() && !crops) continue;
    if (picks)
      x = add_gather(op.draft(), op.output_name(), op.source(), x, static_cast<int32_t>(i),
                     nearest_indices(op.draft(), axis, request.how));
    else
      x = add_weighted(op, x, static_cast<int64_t>(i), axis, request.how);
  }
  if (codes < 0) return x;
  const int32_t y = add_activation_like(op.draft(), op.output_name(), codes, op.draft().tensor(x).shape);
  op.add(Op::kQuantize, {x}, y);
  return y;
}

// All scales or sizes, where the file may give those of some axes only.
template <typename T>
std::vector<T> of_all_axes(OnnxOp& op, const std::vector<T>& given, std::vector<T> all) {
  const auto axes = op.integers("axes");
  if (axes.empty()) {
    if (given.size() != all.size())
      fail("it has ", given.size(), " scales or sizes; ", all.size(), " are expected");
    return given;
  }
  if (given.size() != axes.size()) fail("it has ", given.size(), " values for ", axes.size(), " axes");
  for (size_t i = 0; i < axes.size(); ++i)
    all[static_cast<size_t>(normal_axis(axes[i], all.size()))] = given[i];
  return all;
}

void take_scales(Request& request, const std::vector<float>& scales) {
  for (size_t i = 0; i < request.from.size(); ++i) {
    const double size = static_cast<double>(scales[i]) * request.from[i];
    if (!(size >= 1.0 && size < 1 << 30))
      fail("its scale ", scales[i], " does not fit ", shape_text(request.from));
    request.axes.push_back({request.from[i], static_cast<int32_t>(std::floor(size + 1e-4)), scales[i], 0, 1});
  }
}

void take_sizes(OnnxOp& op, Request& request, const std::vector<int64_t>& sizes, const std::string& policy) {
  const auto axes = op.integers("axes");
  float common = 0.0f;  // of all axes that are named, where the aspect ratio is kept
  for (size_t i = 0; i < sizes.size() && policy != "stretch"; ++i) {
    bool named = axes.empty();
    for (const int64_t axis : axes) named |= static_cast<size_t>(normal_axis(axis, sizes.size())) == i;
    const float scale = static_cast<float>(sizes[i]) / static_cast<float>(request.from[i]);
    if (named && (common == 0.0f || (policy == "not_larger" ? scale < common : scale > common)))
      common = scale;
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    int32_t to = narrow(sizes[i], "size");
    bool named = policy != "stretch" && axes.empty();
    for (const int64_t axis : axes)
      named |= policy != "stretch" && static_cast<size_t>(normal_axis(axis, sizes.size())) == i;
    if (named) {
      const float kept = std::floor(common * static_cast<float>(request.from[i]) + 0.5f);
      if (!(kept >= 1.0f && kept < 1 << 30)) fail("its size ", kept, " is not allowed");
      to = static_cast<int32_t>(kept);
    }
    if (to < 1) fail("its size ", to, " is not allowed");
    const float scale = static_cast<float>(to) / static_cast<float>(request.from[i]);
    request.axes.push_back({request.from[i], to, named ? common : scale, 0, 1});
  }
}

// Of tf_crop_and_resize: where each axis begins and ends, from 0 to 1.
void take_region(OnnxOp& op, Request& request) {
  if (request.how.coordinates != "tf_crop_and_resize") return;
  const size_t rank = request.from.size();
  if (!op.has_input(1)) fail("its region of interest is missing");
  const std::vector<float> given = op.floats(1).values;
  const size_t count = given.size() / 2;
  if (given.size() % 2 != 0) fail("its region of interest has ", given.size(), " values");
  const std::vector<float> zeros(rank, 0.0f), ones(rank, 1.0f);
  const auto middle = given.begin() + static_cast<std::ptrdiff_t>(count);
  const auto starts = of_all_axes(op, std::vector<float>(given.begin(), middle), zeros),
             ends = of_all_axes(op, std::vector<float>(middle, given.end()), ones);
  for (size_t i = 0; i < rank; ++i) {
    request.axes[i].begin = starts[i];
    request.axes[i].end = ends[i];
  }
}

Request request_of(OnnxOp& op) {
  Request request;
  request.from = op.draft().tensor(op.activation_or_codes(0)).shape;
  return request;
}

void finish(OnnxOp& op, const Request& request) {
  Shape to;
  for (const ResampledAxis& axis : request.axes) to.push_back(axis.to);
  check_shape(to, DType::kF32);
  if (request.how.mode != "cubic") (void)interpolation_of(request.how.mode);
  op.set_output(add_resize(op, request));
}

void import_upsample(OnnxOp& op) {
  op.check_inputs(1, 2);
  Request request = request_of(op);
  request.how.mode = op.string("mode", "nearest");
  if (request.how.mode == "bilinear") request.how.mode = "linear";
  request.how.coordinates = "asymmetric";
  request.how.nearest = "floor";
  const std::vector<float> scales = op.opset() >= 9 ? op.floats(1).values : op.reals("scales");
  take_scales(request, of_all_axes(op, scales, std::vector<float>(request.from.size(), 1.0f)));
  finish(op, request);
}

void import_resize(OnnxOp& op) {
  if (op.opset() < 11) return import_upsample(op);
  op.check_inputs(1, 4);
  Request request = request_of(op);
  Resampling& how = request.how;
  how.mode = op.string("mode", "nearest");
  how.coordinates = op.string("coordinate_transformation_mode", "half_pixel");
  how.nearest = op.string("nearest_mode", "round_prefer_floor");
  how.cubic_coefficient = op.real("cubic_coeff_a", -0.75f);
  how.exclude_outside = op.integer("exclude_outside", 0) != 0;
  how.outside = op.real("extrapolation_value", 0.0f);
  how.antialias = op.integer("antialias", 0) != 0;
  (void)rounding_of(how.nearest);
  check_coordinates(how);
  const std::string policy = op.string("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    fail("keep_aspect_ratio_policy ", quoted(policy), " is not known");
  const size_t rank = request.from.size();
  if (op.has_input(3))
    take_sizes(op, request,
               of_all_axes(op, op.integers(3).values,
                           std::vector<int64_t>(request.from.begin(), request.from.end())),
               policy);
  else
    take_scales(request, of_all_axes(op, op.floats(2).values, std::vector<float>(rank, 1.0f)));
  take_region(op, request);
  finish(op, request);
}

constexpr OnnxOperator kOnnxResizeOperators[] = {
    {"Resize",
     import_resize,
     {Op::kResize, Op::kGather, Op::kFullyConnected},
     "To a constant size. Cubic, antialias and other axes than the last three are products with constant weights."},
    {"Upsample",
     import_upsample,
     {Op::kResize, Op::kGather, Op::kFullyConnected},
     "By constant scales, as Resize."},
};

}  // namespace

Span<const OnnxOperator> onnx_resize_operators() { return kOnnxResizeOperators; }

}  // namespace intaglio::importers
