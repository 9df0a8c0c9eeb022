// ONNX GridSample: pixels at places that another input gives. It is built of plain operators: places become indices into a
// list of all pixels, and each result is a sum of the pixels around its place.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 24;  // indices are computed in FP32

struct Grid {
  int32_t n = 0, h = 0, w = 0, c = 0;  // of the picture
  int32_t places = 0;                  // of each picture
  bool to_corners = false, has_border = false;
};

int32_t clamped(OnnxOp& op, int32_t x, float low, float high) {
  const int32_t y = op.new_tensor(op.draft().tensor(x).shape);
  auto& clamp = op.add(Op::kClamp, {x}, y).options.as<Clamp>();
  clamp.min = low;
  clamp.max = high;
  return y;
}

// Column 0 (across) or 1 (down) of the grid, from -1 to 1, as pixels: [n, places].
int32_t places_of(OnnxOp& op, int32_t grid, int32_t column, const Grid& g) {
  Shape shape = op.draft().tensor(grid).shape;
  shape.back() = 1;
  const int32_t slice =
      add_slice(op.draft(), op.name() + "/places", op.source(), grid, {0, 0, 0, column}, {1, 1, 1, 1}, shape);
  const int32_t flat = add_reshape(op.draft(), op.name() + "/places", op.source(), slice, {g.n, g.places});
  const auto side = static_cast<float>(column == 0 ? g.w : g.h);
  const float factor = g.to_corners ? (side - 1) / 2 : side / 2;
  return add_moved(op, add_scaled(op, flat, factor), (side - 1) / 2);
}

// The pixel at whole places, each within the padded picture: [n * places, c].
int32_t pixels(OnnxOp& op, int32_t rows, int32_t across, int32_t down, const Grid& g) {
  const int32_t margin = g.has_border ? 0 : 1;  // of zeros around each picture
  const int32_t width = g.w + 2 * margin, height = g.h + 2 * margin;
  const int32_t x = clamped(op, across, static_cast<float>(-margin), static_cast<float>(g.w - 1 + margin)),
                y = clamped(op, down, static_cast<float>(-margin), static_cast<float>(g.h - 1 + margin));
  int32_t index = add_binary(op, Op::kAdd, add_scaled(op, y, static_cast<float>(width)), x);
  std::vector<float> first;  // pixel of each picture, at place 0
  first.reserve(static_cast<size_t>(g.n));
  for (int32_t i = 0; i < g.n; ++i)
    first.push_back(static_cast<float>(int64_t{i} * height * width + margin * width + margin));
  const int32_t start = add_constant(op.draft(), op.name() + "/first", DType::kF32, {g.n, 1}, first);
  index = op.as_index(add_binary(op, Op::kAdd, index, start));
  const int32_t list = add_reshape(op.draft(), op.name() + "/indices", op.source(), index, {g.n * g.places});
  return add_gather_by(op.draft(), op.name() + "/pixels", op.source(), rows, 0, list);
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
    const int32_t pixels = add_gather(op.draft(), op.name() + "/pixels", op.source(), rows, 0, indices);
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
  const Shape from = op.draft().tensor(x).shape;
  const int32_t grid = op.activation_or_numbers(1);
  const Shape of_grid = op.draft().tensor(grid).shape;
  if (of_grid.size() != 4 || of_grid[0] != from[0] || of_grid[3] != 2)
    fail("its grid has the shape ", shape_text(of_grid), "; [", from[0], ", height, width, 2] is expected");
  g.n = from[0];
  g.h = from[1];
  g.w = from[2];
  g.c = from[3];
  g.places = of_grid[1] * of_grid[2];
  if (!g.has_border) x = add_zeros_around(op, x, {0, 1, 1, 0}, {0, 1, 1, 0});
  const Shape padded = op.draft().tensor(x).shape;
  const int64_t count = int64_t{padded[0]} * padded[1] * padded[2];
  if (count > kMostPixels) fail(count, " pixels are too many; at most ", kMostPixels, " are supported");
  const int32_t rows =
      add_reshape(op.draft(), op.name() + "/rows", op.source(), x, {static_cast<int32_t>(count), g.c});
  // Beyond a pixel outside there is nothing but what that pixel has.
  int32_t across = -1, down = -1;
  if (!op.is_constant(1)) {
    across = clamped(op, places_of(op, grid, 0, g), -1.0f, static_cast<float>(g.w));
    down = clamped(op, places_of(op, grid, 1, g), -1.0f, static_cast<float>(g.h));
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
      const int32_t weight = add_reshape(op.draft(), op.name() + "/weight", op.source(),
                                         add_binary(op, Op::kMul, weight_x, weight_y), {g.n * g.places, 1});
      const int32_t part = add_binary(op, Op::kMul, pixels(op, rows, at_x, at_y, g), weight);
      sum = sum < 0 ? part : add_binary(op, Op::kAdd, sum, part);
    }
  }
  op.set_nhwc_output(
      add_reshape(op.draft(), op.output_name(), op.source(), sum, {g.n, of_grid[1], of_grid[2], g.c}));
}

constexpr OnnxOperator kOnnxSampleOperators[] = {
    {"GridSample",
     import_grid_sample,
     {Op::kGather, Op::kFloor, Op::kMul, Op::kAdd},
     "Rank 4, linear or nearest, with zeros or the border outside."},
    {"GridSample",
     import_grid_sample,
     {Op::kGather, Op::kFloor, Op::kMul, Op::kAdd},
     "As ONNX has it.",
     "com.microsoft"},
};

}  // namespace

Span<const OnnxOperator> onnx_sample_operators() { return kOnnxSampleOperators; }

}  // namespace intaglio::importers
