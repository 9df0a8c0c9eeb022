// Operators of ONNX that others compute: sums of patches, means over axes, places of the greatest.
#include "importers/draft/geometry.h"
#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {
namespace {

constexpr int64_t kMostPlacesInReals = int64_t{1} << 24;  // places are computed in FP32

// The sum of patches [batch, channels * taps, places] where they lie in a picture or a line: a transposed convolution, each tap
// of which takes one channel.
void decompose_col2im(OnnxDecomposer& s) {
  s.check_inputs(3, 3);
  s.check_one_output();
  const Shape x = s.shape(0);
  const std::vector<int64_t> sides = s.constant(1), block = s.constant(2);
  const size_t axes = sides.size();
  if (x.size() != 3 || axes < 1 || axes > 2 || block.size() != axes)
    fail("its input has the shape ", shape_text(x), ", its picture ", axes, " sides and its block ",
         block.size(), "; rank 3 and one or two constant sides are supported");
  const std::vector<int64_t> strides = s.list("strides", axes, 1), dilations = s.list("dilations", axes, 1),
                             pads = s.list("pads", 2 * axes, 0);
  constexpr int64_t kMostTaps = 4096;
  int64_t taps = 1;
  std::vector<int64_t> places, remainders;
  for (size_t i = 0; i < axes; ++i) {
    if (sides[i] < 1 || sides[i] > kMaxTensorBytes) fail("its picture has a side of ", sides[i]);
    if (block[i] < 1 || block[i] > kMostTaps / taps)
      fail("its block has ", block[i], " elements along axis ", i);
    taps *= block[i];
    const int64_t room = sides[i] + pads[i] + pads[axes + i] - dilations[i] * (block[i] - 1) - 1;
    if (room < 0) fail("its block does not fit into its picture, which has a side of ", sides[i]);
    places.push_back(room / strides[i] + 1);
    remainders.push_back(room % strides[i]);
  }
  const int64_t channels = x[1] / taps;
  if (channels < 1 || x[1] % taps != 0) fail("its ", x[1], " channels do not divide into ", taps, " taps");
  std::vector<int64_t> of_patches{x[0], x[1]}, of_weights{taps, 1};
  of_patches.insert(of_patches.end(), places.begin(), places.end());
  of_weights.insert(of_weights.end(), block.begin(), block.end());
  const std::string ones = s.add("ConstantOfShape", {s.integers({taps, taps})});
  const std::string unit = s.add("EyeLike", {ones}, {{"dtype", onnx_file::TensorProto::FLOAT}});
  std::vector<int64_t> repeats(of_weights.size(), 1);
  repeats[0] = channels;
  const std::string weights = s.add("Tile", {s.reshaped(unit, of_weights), s.integers(repeats)});
  s.add("ConvTranspose", {s.reshaped(s.input(0), of_patches), weights},
        {{"group", channels},
         {"kernel_shape", block},
         {"strides", strides},
         {"dilations", dilations},
         {"pads", pads},
         {"output_padding", remainders}},
        s.output(0));
}

std::string mean(OnnxDecomposer& s, const std::string& x, const std::vector<int64_t>& axes) {
  if (s.opset() >= 18) return s.add("ReduceMean", {x, s.integers(axes)});
  return s.add("ReduceMean", {x}, {{"axes", axes}});
}

void decompose_mean_variance(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  s.check_one_output();
  std::vector<int64_t> axes = s.list("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const std::string x = s.add("Sub", {s.input(0), mean(s, s.input(0), axes)});
  const std::string deviation = s.add("Sqrt", {mean(s, s.add("Mul", {x, x}), axes)});
  s.add("Div", {x, s.add("Add", {deviation, s.number(1e-9f)})}, {}, s.output(0));
}

// 1 - erf(x), as tf2onnx writes TensorFlow's operator.
void decompose_erfc(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  s.check_one_output();
  s.add("Sub", {s.number(1.0f), s.add("Erf", {s.input(0)})}, {}, s.output(0));
}

// 1 at the place of the greatest, 0 elsewhere.
void decompose_hardmax(OnnxDecomposer& s) {
  s.check_inputs(1, 1);
  s.check_one_output();
  const Shape x = s.shape(0);
  const int64_t axis = normal_axis(s.integer("axis", s.opset() < 13 ? 1 : -1), x.size());
  const bool is_last = axis + 1 == static_cast<int64_t>(x.size());
  if (s.opset() < 13 && !is_last) fail("below opset 13 it is supported along the last axis alone");
  const std::string places = s.add("ArgMax", {s.input(0)}, {{"axis", axis}, {"keepdims", 0}});
  s.add("OneHot", {places, s.integers({x[static_cast<size_t>(axis)]}), s.numbers({0.0f, 1.0f})},
        {{"axis", axis}}, s.output(0));
}

// The first steps of each row turned round, as many as the row has.
void decompose_reverse(OnnxDecomposer& s) {
  s.check_inputs(2, 2);
  s.check_one_output();
  const Shape x = s.shape(0);
  const int64_t time = s.integer("time_axis", 0), batch = s.integer("batch_axis", 1);
  if (x.size() < 2 || time < 0 || time > 1 || batch != 1 - time)
    fail("time_axis ", time, " and batch_axis ", batch, " are not allowed; 0 and 1 are");
  const std::vector<int64_t> lengths = s.constant(1);
  const int64_t steps = x[static_cast<size_t>(time)], rows = x[static_cast<size_t>(batch)];
  if (static_cast<int64_t>(lengths.size()) != rows)
    fail("it has ", lengths.size(), " constant lengths for ", rows, " rows");
  if (rows > 64) fail("it has ", rows, " rows; 64 are supported");
  std::vector<std::string> parts;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t length = lengths[static_cast<size_t>(row)];
    if (length < 1 || length > steps) fail("a length is ", length, " of ", steps, " steps");
    std::vector<int64_t> from;
    for (int64_t i = 0; i < steps; ++i) from.push_back(i < length ? length - 1 - i : i);
    parts.push_back(
        s.add("Gather", {s.slice(s.input(0), batch, row, row + 1), s.integers(from)}, {{"axis", time}}));
  }
  s.add("Concat", parts, {{"axis", batch}}, s.output(0));
}

// Windows that touch and do not overlap: the sizes of x [n, c, h, w] in them.
struct Blocks {
  int64_t n, c, h, w, kh, kw;  // h and w count windows; h * kh and w * kw are below 2^31
  int64_t width() const { return w * kw; }
  int64_t area() const { return h * kh * width(); }
};

Blocks read_blocks(OnnxDecomposer& s, bool is_pooled) {
  const Shape x = s.shape(0);
  const std::vector<int64_t> kernel = s.list("kernel_shape"), strides = s.list("strides");
  if (x.size() != 4 || kernel.size() != 2 || strides != kernel || kernel[0] < 1 || kernel[1] < 1)
    fail("places of the greatest are supported for pictures in windows that touch and do not overlap");
  for (const char* name : {"pads", "dilations"})
    for (const int64_t value : s.list(name))
      if (value != (name[0] == 'p' ? 0 : 1)) fail("places of the greatest are not supported with ", name);
  for (size_t i = 0; i < 4; ++i)
    if (x[i] < 1) fail("its input has the shape ", shape_text(x));
  for (size_t i = 0; is_pooled && i < 2; ++i)
    if (kernel[i] > kMostPlacesInReals / x[2 + i])
      fail("its windows of ", kernel[i], " along axis ", 2 + i, " give more than 2^24 elements");
  if (is_pooled) return {x[0], x[1], x[2], x[3], kernel[0], kernel[1]};
  if (x[2] % kernel[0] != 0 || x[3] % kernel[1] != 0)
    fail("places of the greatest are supported where windows of ", kernel[0], " x ", kernel[1], " fill ",
         shape_text(x));
  return {x[0], x[1], x[2] / kernel[0], x[3] / kernel[1], kernel[0], kernel[1]};
}

// The number, among all elements of the picture, of each window's first one: a sum along its axes.
std::string first_places(OnnxDecomposer& s, const Blocks& b) {
  const int64_t area = b.area();
  if (area > kMostPlacesInReals || b.n * b.c > kMostPlacesInReals / area)
    fail("it has more than 2^24 elements");
  const auto along = [&](int64_t count, int64_t step, const std::vector<int64_t>& dims) {
    return s.reshaped(s.as_real(s.counted(count, step)), dims);
  };
  const std::string planes = along(b.n * b.c, area, {b.n, b.c, 1, 1});
  const std::string rows = along(b.h, b.kh * b.width(), {1, 1, b.h, 1});
  return s.add("Add", {planes, s.add("Add", {rows, along(b.w, b.kw, {1, 1, 1, b.w})})});
}

void decompose_max_pool(OnnxDecomposer& s) {
  if (!s.has_output(1)) return;  // the operator itself
  s.check_inputs(1, 1);
  if (s.integer("storage_order", 0) != 0) fail("storage_order is not supported");
  const Blocks b = read_blocks(s, false);
  s.note_places(s.output(1), s.input(0));
  if (s.has_output(0)) s.add_own("MaxPool", {s.input(0)}, {}, s.output(0));
  for (const char* name : {"auto_pad", "ceil_mode"}) s.ignore(name);
  const std::string apart = s.reshaped(s.input(0), {b.n * b.c, b.h, b.kh, b.w, b.kw});
  const std::string windows =
      s.reshaped(s.transposed(apart, {0, 1, 3, 2, 4}), {b.n, b.c, b.h, b.w, b.kh * b.kw});
  const std::string tap = s.as_real(s.add("ArgMax", {windows}, {{"axis", 4}, {"keepdims", 0}}));
  const std::string row =
      s.add("Floor",
            {s.add("Mul", {s.add("Add", {tap, s.number(0.5f)}), s.number(1.0f / static_cast<float>(b.kw))})});
  const std::string down = s.add("Mul", {row, s.number(static_cast<float>((b.w - 1) * b.kw))});
  const std::string number = s.add("Add", {s.add("Add", {tap, down}), first_places(s, b)});
  s.add("Cast", {number}, {{"to", onnx_file::TensorProto::INT64}}, s.output(1));
}

// Constant indices, each of which must lie in the window whose number it places.
void check_places(const std::vector<int64_t>& places, const Blocks& b) {
  for (size_t i = 0; i < places.size(); ++i) {
    const auto window = static_cast<int64_t>(i);
    const int64_t row = window / b.w % b.h, column = window % b.w;
    const int64_t first = window / (b.w * b.h) * b.area() + row * b.kh * b.width() + column * b.kw;
    const bool is_behind = places[i] >= first && places[i] < b.n * b.c * b.area();
    const int64_t tap = is_behind ? places[i] - first : -1;
    if (tap < 0 || tap / b.width() >= b.kh || tap % b.width() >= b.kw)
      fail("its index ", places[i], " lies outside of window ", i, ", whose first element is ", first);
  }
}

// Each number at the place in its window that its index names, zeros elsewhere. Places of a MaxPool of the same windows are
// found anew in what that has read; the node that is left has it in place of the indices.
void decompose_max_unpool(OnnxDecomposer& s) {
  s.check_inputs(2, 3);
  s.check_one_output();
  const Blocks b = read_blocks(s, true);
  if (s.shape(1) != s.shape(0)) fail("its indices have the shape ", shape_text(s.shape(1)));
  const int64_t width = b.width();
  if (s.has(2) && s.constant(2) != std::vector<int64_t>{b.n, b.c, b.h * b.kh, width})
    fail("its output_shape is not that of its windows");
  const std::string map = s.map_of_places(1);
  if (!map.empty() && s.shape_of(map) == Shape{narrow(b.n, "batch"), narrow(b.c, "channels"),
                                               narrow(b.h * b.kh, "height"), narrow(width, "width")}) {
    s.add("MaxUnpool", {s.input(0), map}, {}, s.output(0));
    return;
  }
  const std::string first = first_places(s, b);
  check_places(s.constant(1), b);
  const std::vector<int64_t> column{b.n * b.c, b.h, b.w, 1};
  const std::string number = s.reshaped(s.add("Sub", {s.as_real(s.input(1)), first}), column);
  std::vector<int64_t> taps;
  for (int64_t row = 0; row < b.kh; ++row)
    for (int64_t tap = 0; tap < b.kw; ++tap) taps.push_back(row * width + tap);
  const std::string chosen =
      s.as_real(s.add("Equal", {number, s.as_real(s.reshaped(s.integers(taps), {1, 1, 1, b.kh * b.kw}))}));
  const std::string placed = s.add("Mul", {s.reshaped(s.input(0), column), chosen});
  const std::string apart = s.reshaped(placed, {b.n * b.c, b.h, b.w, b.kh, b.kw});
  s.reshaped(s.transposed(apart, {0, 1, 3, 2, 4}), {b.n, b.c, b.h * b.kh, width}, s.output(0));
}

constexpr OnnxDecomposition kOnnxComposedDecompositions[] = {
    {"Col2Im",
     decompose_col2im,
     {Op::kConv2d, Op::kDepthwiseConv2d, Op::kTranspose, Op::kStridedSlice},
     "One or two dimensions; shapes are constants. It becomes a transposed convolution.",
     kStandard},
    {"Erfc", decompose_erfc, {Op::kErf, Op::kSub}, "No operator of ONNX: as tf2onnx leaves it.", kStandard},
    {"Hardmax", decompose_hardmax, {Op::kTopK, Op::kOneHot}, "", kStandard},
    {"MaxPool", decompose_max_pool, {}, nullptr, kStandard},
    {"MaxUnpool", decompose_max_unpool, {}, nullptr, kStandard},
    {"MeanVarianceNormalization", decompose_mean_variance, {Op::kMean, Op::kSub, Op::kDiv}, "", kStandard},
    {"ReverseSequence",
     decompose_reverse,
     {Op::kGather, Op::kConcat},
     "Lengths are constants, of at most 64 rows.",
     kStandard},
};

}  // namespace

Span<const OnnxDecomposition> onnx_composed_decompositions() { return kOnnxComposedDecompositions; }

}  // namespace intaglio::importers
