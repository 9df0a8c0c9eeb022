#include "importers/onnx/onnx_reader.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

// Limits of a window and of a side of an output: no network has more, and their products stay within 64 bits.
constexpr int64_t kMostTaps = 4096, kMostSide = int64_t{1} << 16;
constexpr int64_t kMostParts = 64;  // of one Concat

// Constants along_axis one axis of a tensor of `rank` axes.
std::string along_axis(OnnxDecomposer& s, const std::vector<float>& values, size_t axis, size_t rank) {
  std::vector<int64_t> shape(rank, 1);
  shape[axis] = static_cast<int64_t>(values.size());
  return s.reshaped(s.numbers(values), shape);
}

std::string scaled(OnnxDecomposer& s, const std::string& x, float factor) {
  return s.add("Mul", {x, s.number(factor)});
}

// x [n, c, h, w] at columns and rows, each of the shape [n, height, width], where -1 and 1 are the picture's borders.
std::string sampled(OnnxDecomposer& s, const std::string& x, const std::string& columns,
                    const std::string& rows, const std::vector<int64_t>& shape, const char* padding) {
  std::vector<int64_t> places = shape;
  places.push_back(1);
  const std::string across = s.reshaped(columns, places), down = s.reshaped(rows, places);
  const std::string grid = s.add("Concat", {across, down}, {{"axis", 3}});
  return s.add("GridSample", {x, grid},
               {{"align_corners", 0}, {"mode", "linear"}, {"padding_mode", padding}});
}

// Each tap of a window is a picture that a run samples, and the convolution a product with all of them.
void decompose_deformed(OnnxDecomposer& s) {
  s.check_inputs(3, 5);
  s.check_one_output();
  const Shape x = s.shape(0), weights = s.shape(1), offset = s.shape(2);
  if (x.size() != 4 || weights.size() != 4 || offset.size() != 4) fail("it is supported for pictures alone");
  const std::vector<int64_t> strides = s.list("strides", 2, 1), dilations = s.list("dilations", 2, 1),
                             pads = s.list("pads", 4, 0);
  s.ignore("kernel_shape");
  const int64_t parts = s.integer("offset_group", 1), group = s.integer("group", 1);
  const int64_t n = x[0], kh = weights[2], kw = weights[3], oh = offset[2], ow = offset[3];
  if (kh < 1 || kw < 1 || kh > kMostTaps / kw) fail("its window is ", kh, " x ", kw);
  if (oh < 1 || ow < 1 || oh > kMostSide || ow > kMostSide) fail("its output is ", oh, " x ", ow);
  if (parts < 1 || parts > kMostParts || parts > x[1])
    fail("it has ", parts, " groups of offsets for ", x[1], " channels; 1 to ", kMostParts, " are supported");
  const int64_t taps = kh * kw;
  if (x[1] % parts != 0 || offset[0] != x[0] || offset[1] != 2 * parts * taps)
    fail("its offsets are ", shape_text(offset), " where [", n, ", ", 2 * parts * taps, ", ", oh, ", ", ow,
         "] is expected");
  if (s.has(4) && s.shape(4) != Shape{x[0], static_cast<int32_t>(parts * taps), offset[2], offset[3]})
    fail("its mask is ", shape_text(s.shape(4)), ", which does not fit its offsets");
  const auto channels = static_cast<int64_t>(x[1]) / parts;
  // Where the taps would stand without an offset.
  const auto places = [&](bool is_row) {
    const int64_t count = is_row ? oh : ow;
    const size_t d = is_row ? 0 : 1;
    std::vector<float> of_taps, of_outputs;
    for (int64_t t = 0; t < taps; ++t)
      of_taps.push_back(static_cast<float>((is_row ? t / kw : t % kw) * dilations[d] - pads[d]));
    for (int64_t i = 0; i < count; ++i) of_outputs.push_back(static_cast<float>(i * strides[d]));
    return s.add("Add", {along_axis(s, of_taps, 1, 4), along_axis(s, of_outputs, is_row ? 2 : 3, 4)});
  };
  const std::string rows = places(true), columns = places(false);
  const std::string offsets = s.reshaped(s.input(2), {n * parts, taps, 2, oh * ow});
  const auto moved = [&](int64_t part, bool is_row) {
    const int64_t side = is_row ? x[2] : x[3];
    std::string own = offsets;
    if (n * parts > 1)
      own = s.reshaped(s.slice(s.reshaped(offsets, {n, parts, taps * 2, oh * ow}), 1, part, part + 1),
                       {n, taps, 2, oh * ow});
    const std::string one = s.reshaped(s.slice(own, 2, is_row ? 0 : 1, is_row ? 1 : 2), {n, taps, oh, ow});
    const std::string at =
        scaled(s, s.add("Add", {one, is_row ? rows : columns}), 2.0f / static_cast<float>(side));
    return s.add("Add", {at, s.number(1.0f / static_cast<float>(side) - 1.0f)});
  };
  std::vector<std::string> pictures;
  for (int64_t part = 0; part < parts; ++part) {
    const std::string own =
        parts == 1 ? s.input(0) : s.slice(s.input(0), 1, part * channels, (part + 1) * channels);
    std::string taken = sampled(s, own, moved(part, false), moved(part, true), {n, taps * oh, ow}, "zeros");
    if (s.has(4)) {
      const std::string mask =
          parts == 1 ? s.input(4) : s.slice(s.input(4), 1, part * taps, (part + 1) * taps);
      taken = s.add("Mul", {taken, s.reshaped(mask, {n, 1, taps * oh, ow})});
    }
    pictures.push_back(s.reshaped(taken, {n, channels * taps, oh, ow}));
  }
  if (parts > 1) pictures = {s.add("Concat", pictures, {{"axis", 1}})};
  std::vector<std::string> inputs{pictures[0], s.reshaped(s.input(1), {weights[0], weights[1] * taps, 1, 1})};
  if (s.has(3)) inputs.push_back(s.input(3));
  s.add("Conv", inputs, {{"group", group}, {"kernel_shape", OnnxList{1, 1}}}, s.output(0));
}

// Regions of one picture [1, c, h, w], each as `count` x `count` samples for an element of its output.
void decompose_regions(OnnxDecomposer& s) {
  s.check_inputs(3, 3);
  s.check_one_output();
  const Shape x = s.shape(0), regions = s.shape(1);
  if (x.size() != 4 || regions.size() != 2 || regions[1] != 4) fail("it is supported for pictures alone");
  if (x[0] != 1) fail("it takes regions of ", x[0], " pictures; 1 is supported");
  const std::string mode = s.string("mode", "avg");
  if (mode != "avg" && mode != "max") fail("mode ", quoted(mode), " is not known");
  const int64_t count = s.integer("sampling_ratio", 0);
  if (count < 1 || count > 64)
    fail("sampling_ratio ", count,
         " is not supported: how many samples a region has must not depend on its size");
  const int64_t oh = s.integer("output_height", 1), ow = s.integer("output_width", 1), number = regions[0];
  if (oh < 1 || ow < 1 || oh > kMostSide / count || ow > kMostSide / count)
    fail("its output is ", oh, " x ", ow, " of ", count, " x ", count, " samples; a side may have ",
         kMostSide);
  const std::string places =
      s.string("coordinate_transformation_mode", s.opset() >= 16 ? "half_pixel" : "output_half_pixel");
  const bool to_half = places == "half_pixel";
  if (!to_half && places != "output_half_pixel")
    fail("coordinate_transformation_mode ", quoted(places), " is not known");
  if (mode == "max")
    s.note(
        text("RoiAlign ", quoted(s.output(0)),
             " takes the largest of the interpolated samples, as ONNX says; onnxruntime takes the largest of "
             "their weighted neighbours, which is less"));
  const float scale = s.real("spatial_scale", 1.0f);
  const auto end = [&](int64_t i) { return scaled(s, s.slice(s.input(1), 1, i, i + 1), scale); };
  // Places [regions, samples] along_axis one side, and whether they count.
  const auto line = [&](bool is_row, std::string* counts) {
    const int64_t outputs = is_row ? oh : ow, samples = outputs * count;
    const auto side = static_cast<float>(is_row ? x[2] : x[3]);
    const std::string first = end(is_row ? 1 : 0);
    std::string length = s.add("Sub", {end(is_row ? 3 : 2), first});
    if (!to_half) length = s.add("Max", {length, s.number(1.0f)});
    std::vector<float> parts;
    for (int64_t i = 0; i < samples; ++i)
      parts.push_back((static_cast<float>(i) + 0.5f) / static_cast<float>(samples));
    std::string at = s.add("Add", {s.add("Mul", {length, along_axis(s, parts, 1, 2)}), first});
    if (to_half) at = s.add("Sub", {at, s.number(0.5f)});
    const std::string before = s.add("Less", {at, s.number(-1.0f)}),
                      behind = s.add("Greater", {at, s.number(side)});
    *counts = s.as_real(s.add("Not", {s.add("Or", {before, behind})}));
    return s.add("Add", {scaled(s, at, 2.0f / side), s.number(1.0f / side - 1.0f)});
  };
  std::string row_counts, column_counts;
  const std::string rows = s.reshaped(line(true, &row_counts), {number, oh * count, 1}),
                    columns = s.reshaped(line(false, &column_counts), {number, 1, ow * count});
  const std::vector<float> no_rows(static_cast<size_t>(oh * count)),
      no_columns(static_cast<size_t>(ow * count));
  const std::string at_rows = s.add("Add", {rows, along_axis(s, no_columns, 2, 3)}),
                    at_columns = s.add("Add", {columns, along_axis(s, no_rows, 1, 3)});
  const std::string taken =
      sampled(s, s.input(0), at_columns, at_rows, {1, number * oh * count, ow * count}, "border");
  const std::string mask = s.add("Mul", {s.reshaped(row_counts, {number, oh * count, 1}),
                                         s.reshaped(column_counts, {number, 1, ow * count})});
  const std::string masked = s.add("Mul", {taken, s.reshaped(mask, {1, 1, number * oh * count, ow * count})});
  const std::string all =
      s.transposed(s.reshaped(masked, {x[1], number, oh * count, ow * count}), {1, 0, 2, 3});
  s.add(mode == "avg" ? "AveragePool" : "MaxPool", {all},
        {{"kernel_shape", OnnxList{count, count}}, {"strides", OnnxList{count, count}}}, s.output(0));
}

constexpr OnnxDecomposition kRegionDecompositions[] = {
    {"DeformConv",
     decompose_deformed,
     {Op::kConv2d, Op::kGather, Op::kFloor, Op::kMul},
     "Pictures; offsets are computed by a run. Weights and bias are constants.",
     kStandard},
    {"RoiAlign",
     decompose_regions,
     {Op::kGather, Op::kFloor, Op::kAvgPool2d, Op::kMaxPool2d},
     "Of one picture, with a sampling_ratio above 0. The mode max takes the largest of interpolated samples.",
     kStandard},
};

}  // namespace

Span<const OnnxDecomposition> onnx_regions_decompositions() { return kRegionDecompositions; }

}  // namespace intaglio::importers
