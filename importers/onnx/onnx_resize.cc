// ONNX Resize, Upsample and GridSample.
#include <algorithm>
#include <cmath>

#include "importers/draft/draft.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// Resampling along one axis, as ONNX's Resize defines it: which inputs an output is made of, and with what weights.
struct ResampledAxis {
  int32_t from = 1, to = 1;
  float scale = 1.0f;              // as the file has it, or to / from
  float begin = 0.0f, end = 1.0f;  // of tf_crop_and_resize

  bool is_same() const { return from == to && scale == 1.0f; }
};

// The attributes of the operator, by ONNX's words.
struct Resampling {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  float cubic_coefficient = -0.75f;
  float outside = 0.0f;  // beyond the input, of tf_crop_and_resize
  bool antialias = false, exclude_outside = false;
};

constexpr const char* kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn",
};

// Where output i lies in the input, in float as onnxruntime has it.
float place_of(int32_t i, const ResampledAxis& axis, const std::string& coordinates) {
  const auto at = static_cast<float>(i), from = static_cast<float>(axis.from),
             to = static_cast<float>(axis.to);
  if (coordinates == "asymmetric") return at / axis.scale;
  if (coordinates == "align_corners") return axis.to == 1 ? 0.0f : at * (from - 1) / (to - 1);
  if (coordinates == "tf_half_pixel_for_nn") return (at + 0.5f) / axis.scale;
  if (coordinates == "tf_crop_and_resize")
    return axis.to > 1 ? axis.begin * (from - 1) + at * (axis.end - axis.begin) * (from - 1) / (to - 1)
                       : 0.5f * (axis.begin + axis.end) * (from - 1);
  if (coordinates == "pytorch_half_pixel" && axis.to == 1) return 0.0f;
  const float place = (at + 0.5f) / axis.scale - 0.5f;
  if (coordinates != "half_pixel_symmetric") return place;
  return from / 2 * (1 - to / (axis.scale * from)) + place;
}

int32_t rounded_coordinate(float place, const std::string& mode) {
  const float value = mode == "floor"               ? std::floor(place)
                      : mode == "ceil"              ? std::ceil(place)
                      : mode == "round_prefer_ceil" ? std::floor(place + 0.5f)
                                                    : std::ceil(place - 0.5f);
  return static_cast<int32_t>(std::clamp(value, -1e9f, 1e9f));
}

// The interpolation's weight at a distance.
float linear_weight(float distance) { return std::max(0.0f, 1.0f - std::fabs(distance)); }

float cubic_weight(float distance, float a) {
  const float x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0f;
}

// Adds to a row what inputs from `first` on give, by their distances in units of the filter.
void add_taps(float* row, const ResampledAxis& axis, const Resampling& how, int32_t first, int32_t count,
              float place, float unit) {
  const auto weight = [&](int32_t i) {
    const float distance = (static_cast<float>(i) - place) * unit;
    return how.mode == "cubic" ? cubic_weight(distance, how.cubic_coefficient) : linear_weight(distance);
  };
  const auto is_inside = [&](int32_t i) { return i >= 0 && i < axis.from; };
  float sum = 0;
  for (int32_t i = first; i < first + count; ++i)
    if (!how.exclude_outside || is_inside(i)) sum += weight(i);
  const float by = how.antialias || how.exclude_outside ? sum : 1.0f;
  for (int32_t i = first; i < first + count; ++i) {
    if (how.exclude_outside && !is_inside(i)) continue;
    row[std::clamp(i, 0, axis.from - 1)] += weight(i) / by;
  }
}

// Throws where the coordinates have a name that is not known.
void check_coordinates(const Resampling& how) {
  for (const char* const known : kCoordinates)
    if (how.coordinates == known) return;
  fail("coordinate_transformation_mode ", quoted(how.coordinates), " is not known");
}

// One index for each output. Throws where there is no room for so many.
std::vector<int32_t> nearest_indices(const Draft& draft, const ResampledAxis& axis, const Resampling& how) {
  draft.budget->check_numbers(axis.to);
  std::vector<int32_t> indices;
  indices.reserve(static_cast<size_t>(axis.to));
  for (int32_t i = 0; i < axis.to; ++i)
    indices.push_back(
        std::clamp(rounded_coordinate(place_of(i, axis, how.coordinates), how.nearest), 0, axis.from - 1));
  return indices;
}

// y = weights * x + added; weights [to, from].
struct ResampledWeights {
  std::vector<float> weights, added;
};

ResampledWeights resampled_weights(const Draft& draft, const ResampledAxis& axis, const Resampling& how) {
  draft.budget->check_numbers(int64_t{axis.to} * axis.from);
  ResampledWeights result;
  const auto columns = static_cast<size_t>(axis.from);
  result.weights.assign(static_cast<size_t>(axis.to) * columns, 0.0f);
  result.added.assign(static_cast<size_t>(axis.to), 0.0f);
  const float reach = how.mode == "cubic" ? 2.0f : 1.0f;
  for (int32_t i = 0; i < axis.to; ++i) {
    float* const row = result.weights.data() + static_cast<size_t>(i) * columns;
    float place = place_of(i, axis, how.coordinates);
    if (!(std::fabs(place) <= 1e9f)) fail("its scale ", axis.scale, " leads beyond its input");
    const bool is_outside = place < 0 || place > static_cast<float>(axis.from - 1);
    if (how.coordinates == "tf_crop_and_resize" && is_outside) {
      result.added[static_cast<size_t>(i)] = how.outside;
      continue;
    }
    if (how.mode == "nearest") {
      row[std::clamp(rounded_coordinate(place, how.nearest), 0, axis.from - 1)] = 1.0f;
    } else if (how.antialias) {  // a filter as wide as the inputs that one output stands for
      const float wide = std::max(1.0f, 1.0f / axis.scale);
      const auto first = static_cast<int32_t>(std::floor(place + 1.0f - reach * wide)),
                 last = static_cast<int32_t>(std::floor(place + 1.0f + reach * wide));
      add_taps(row, axis, how, first, std::max(last - first, 1), place, 1.0f / wide);
    } else {
      if (how.mode == "linear") place = std::clamp(place, 0.0f, static_cast<float>(axis.from - 1));
      const int32_t taps = how.mode == "cubic" ? 4 : 2;
      add_taps(row, axis, how, static_cast<int32_t>(std::floor(place)) - taps / 2 + 1, taps, place, 1.0f);
    }
  }
  return result;
}

// What the runtime's Resize does of height and width is one, or two for three dimensions. All else goes
// along one axis after the other: nearest picks elements by indices, the rest is a product with constant weights.

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

// The options of a Resize: for each axis, and in common.
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
  const Shape from = op.shape(picture);
  if (from[1] == height && from[2] == width) return x;
  const int32_t y = op.new_tensor_like(picture, {from[0], height, width, from[3]});
  op.add(Op::kResize, {picture}, y).options.as<ResizeOptions>() = options_of(how);
  return add_transpose(op.result(), y, kToNchw);
}

int32_t reshaped(OnnxOp& op, int32_t x, const Shape& shape) { return add_reshape(op.result(), x, shape); }

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
    Shape shape = op.shape(rows);
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
    x = op.make(Op::kDequantize, {codes}, request.from);
  }
  for (size_t i = 0; i < rank; ++i) {
    const ResampledAxis& axis = request.axes[i];
    if (axis.is_same() && !crops) continue;
    if (picks)
      x = add_gather(op.result(), x, static_cast<int32_t>(i), nearest_indices(op.draft(), axis, request.how));
    else
      x = add_weighted(op, x, static_cast<int64_t>(i), axis, request.how);
  }
  if (codes < 0) return x;
  const int32_t y = add_activation_like(op.draft(), op.output_name(), codes, op.shape(x));
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

// For tf_crop_and_resize: where each axis begins and ends, from 0 to 1.
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
  request.from = op.shape(op.activation_or_codes(0));
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

// GridSample: pixels at places that another input gives. It is built of plain operators: places become indices into a
// list of all pixels, and each result is a sum of the pixels around its place.

constexpr int64_t kMostPixels = int64_t{1} << 24;  // indices are computed in FP32

struct Grid {
  int32_t n = 0, h = 0, w = 0, c = 0;  // of the picture
  int32_t places = 0;                  // of each picture
  bool to_corners = false, has_border = false;
};

// Column 0 (across) or 1 (down) of the grid, from -1 to 1, as pixels: [n, places].
int32_t places_of(OnnxOp& op, int32_t grid, int32_t column, const Grid& g) {
  Shape shape = op.shape(grid);
  shape.back() = 1;
  const int32_t slice = add_slice(op.part("/places"), grid, {0, 0, 0, column}, {1, 1, 1, 1}, shape);
  const int32_t flat = add_reshape(op.part("/places"), slice, {g.n, g.places});
  const auto side = static_cast<float>(column == 0 ? g.w : g.h);
  const float factor = g.to_corners ? (side - 1) / 2 : side / 2;
  return add_moved(op, add_scaled(op, flat, factor), (side - 1) / 2);
}

// The pixel at whole places, each within the padded picture: [n * places, c].
int32_t pixels(OnnxOp& op, int32_t rows, int32_t across, int32_t down, const Grid& g) {
  const int32_t margin = g.has_border ? 0 : 1;  // of zeros around each picture
  const int32_t width = g.w + 2 * margin, height = g.h + 2 * margin;
  const int32_t x = add_bounded(op, across, static_cast<float>(-margin),
                                static_cast<float>(g.w - 1 + margin)),
                y = add_bounded(op, down, static_cast<float>(-margin), static_cast<float>(g.h - 1 + margin));
  int32_t index = add_binary(op, Op::kAdd, add_scaled(op, y, static_cast<float>(width)), x);
  std::vector<float> first;  // pixel of each picture, at place 0
  first.reserve(static_cast<size_t>(g.n));
  for (int32_t i = 0; i < g.n; ++i)
    first.push_back(static_cast<float>(int64_t{i} * height * width + margin * width + margin));
  const int32_t start = add_constant(op.draft(), op.name() + "/first", DType::kF32, {g.n, 1}, first);
  index = op.as_index(add_binary(op, Op::kAdd, index, start));
  const int32_t list = add_reshape(op.part("/indices"), index, {g.n * g.places});
  return add_gather_by(op.part("/pixels"), rows, 0, list);
}

// The same of a grid that the file has: constant indices, and a constant weight for each place.
int32_t add_fixed_places(OnnxOp& op, int32_t rows, const std::vector<float>& grid, const Grid& g,
                         bool is_nearest) {
  const int32_t margin = g.has_border ? 0 : 1, width = g.w + 2 * margin, height = g.h + 2 * margin;
  const auto place = [&](size_t i, size_t column, int32_t side) {
    const float at = grid[2 * i + column], length = static_cast<float>(side);
    if (!std::isfinite(at)) fail("its grid holds ", at);
    const float pixel = at * (g.to_corners ? (length - 1) / 2 : length / 2) + (length - 1) / 2;
    return std::clamp(pixel, -1.0f, length);
  };
  const auto within = [&](float at, int32_t side) {
    return std::clamp(static_cast<int32_t>(at), -margin, side - 1 + margin) + margin;
  };
  int32_t sum = -1;
  for (const int corner : {0, 1, 2, 3}) {
    std::vector<int32_t> indices;
    std::vector<float> weights;
    for (size_t i = 0; i < grid.size() / 2; ++i) {
      const float across = place(i, 0, g.w), down = place(i, 1, g.h);
      const float left = is_nearest ? std::nearbyint(across) : std::floor(across),
                  above = is_nearest ? std::nearbyint(down) : std::floor(down);
      const auto right = static_cast<float>(corner % 2), below = static_cast<float>(corner / 2);
      const int32_t picture = static_cast<int32_t>(i) / g.places;
      indices.push_back((picture * height + within(above + below, g.h)) * width + within(left + right, g.w));
      weights.push_back((corner % 2 == 1 ? across - left : 1 - (across - left)) *
                        (corner / 2 == 1 ? down - above : 1 - (down - above)));
    }
    const int32_t pixels = add_gather(op.part("/pixels"), rows, 0, indices);
    if (is_nearest) return pixels;
    const int32_t weight = add_constant(op.draft(), op.name() + "/weight", DType::kF32,
                                        {static_cast<int32_t>(weights.size()), 1}, weights);
    const int32_t part = add_binary(op, Op::kMul, pixels, weight);
    sum = sum < 0 ? part : add_binary(op, Op::kAdd, sum, part);
  }
  return sum;
}

void import_grid_sample(OnnxOp& op) {
  op.check_inputs(2, 2);
  const std::string mode = op.string("mode", "linear"), padding = op.string("padding_mode", "zeros");
  if (mode != "linear" && mode != "bilinear" && mode != "nearest")
    fail("mode ", quoted(mode), " is not supported; linear and nearest are");
  if (padding != "zeros" && padding != "border")
    fail("padding_mode ", quoted(padding), " is not supported; zeros and border are");
  Grid g;
  g.to_corners = op.integer("align_corners", 0) != 0;
  g.has_border = padding == "border";
  int32_t x = op.nhwc(op.activation(0));
  const Shape from = op.shape(x);
  const int32_t grid = op.activation_or_numbers(1);
  const Shape of_grid = op.shape(grid);
  if (of_grid.size() != 4 || of_grid[0] != from[0] || of_grid[3] != 2)
    fail("its grid has the shape ", shape_text(of_grid), "; [", from[0], ", height, width, 2] is expected");
  g.n = from[0];
  g.h = from[1];
  g.w = from[2];
  g.c = from[3];
  g.places = of_grid[1] * of_grid[2];
  if (!g.has_border) x = add_zeros_around(op, x, {0, 1, 1, 0}, {0, 1, 1, 0});
  const Shape padded = op.shape(x);
  const int64_t count = int64_t{padded[0]} * padded[1] * padded[2];
  if (count > kMostPixels) fail(count, " pixels are too many; at most ", kMostPixels, " are supported");
  const int32_t rows = add_reshape(op.part("/rows"), x, {static_cast<int32_t>(count), g.c});
  // Beyond a pixel outside there is nothing but what that pixel has.
  int32_t across = -1, down = -1;
  if (!op.is_constant(1)) {
    across = add_bounded(op, places_of(op, grid, 0, g), -1.0f, static_cast<float>(g.w));
    down = add_bounded(op, places_of(op, grid, 1, g), -1.0f, static_cast<float>(g.h));
  }
  int32_t sum = -1;
  if (op.is_constant(1)) {
    sum = add_fixed_places(op, rows, op.floats(1).values, g, mode == "nearest");
  } else if (mode == "nearest") {
    sum = pixels(op, rows, add_unary(op, Op::kRound, across), add_unary(op, Op::kRound, down), g);
  } else {
    const int32_t left = add_unary(op, Op::kFloor, across), above = add_unary(op, Op::kFloor, down);
    const int32_t part_x = add_binary(op, Op::kSub, across, left),
                  part_y = add_binary(op, Op::kSub, down, above);
    for (const int corner : {0, 1, 2, 3}) {
      const auto side = [&](int32_t place, int32_t part, bool second, int32_t* weight) {
        *weight = second ? part : add_moved(op, add_scaled(op, part, -1.0f), 1.0f);
        return second ? add_moved(op, place, 1.0f) : place;
      };
      int32_t weight_x = -1, weight_y = -1;
      const int32_t at_x = side(left, part_x, corner % 2 == 1, &weight_x),
                    at_y = side(above, part_y, corner / 2 == 1, &weight_y);
      const int32_t weight =
          add_reshape(op.part("/weight"), add_binary(op, Op::kMul, weight_x, weight_y), {g.n * g.places, 1});
      const int32_t part = add_binary(op, Op::kMul, pixels(op, rows, at_x, at_y, g), weight);
      sum = sum < 0 ? part : add_binary(op, Op::kAdd, sum, part);
    }
  }
  op.set_nhwc_output(add_reshape(op.result(), sum, {g.n, of_grid[1], of_grid[2], g.c}));
}

constexpr OnnxOperator kOnnxResizeOperators[] = {
    {"GridSample",
     import_grid_sample,
     {Op::kGather, Op::kFloor, Op::kMul, Op::kAdd},
     "Rank 4, linear or nearest, with zeros or the border outside."},
    {"GridSample",
     import_grid_sample,
     {Op::kGather, Op::kFloor, Op::kMul, Op::kAdd},
     "As ONNX has it.",
     "com.microsoft"},
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
