// ONNX operators that take tensors apart, join or resize them, and the shape arithmetic around them.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::import_onnx_pieces_test {
namespace {

using Ints = std::vector<int64_t>;

std::vector<float> counting(size_t n) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  return x;
}

}  // namespace

TEST_CASE("Concat and Split") {
  OnnxBuilder file(13);
  file.input("x", {1, 6});
  file.integers("sizes", {2, 4});
  auto& split = file.node("Split", {"x", "sizes"}, "a");
  split.output.push_back("b");
  set(split, "axis", int64_t{1});
  file.floats("c", {1, 1}, {9});
  set(file.node("Concat", {"b", "c", "a"}, "y"), "axis", int64_t{1});
  CHECK(run_file(file.output("y").bytes(), counting(6)) == std::vector<float>{2, 3, 4, 5, 9, 0, 1});
}

TEST_CASE("Slice: steps, negative numbers, ends beyond the axis") {
  const struct {
    Ints first, end, axes, steps;
    std::vector<float> expected;
  } cases[] = {
      {{1}, {INT64_MAX}, {1}, {2}, {1, 3, 5, 7}},
      {{-1}, {INT64_MIN}, {-1}, {-3}, {7, 4, 1}},
      {{2}, {-2}, {1}, {1}, {2, 3, 4, 5}},
  };
  for (const auto& c : cases) {
    OnnxBuilder file(13);
    file.input("x", {1, 8});
    file.integers("first", c.first);
    file.integers("end", c.end);
    file.integers("axes", c.axes);
    file.integers("steps", c.steps);
    file.node("Slice", {"x", "first", "end", "axes", "steps"}, "y");
    CHECK(run_file(file.output("y").bytes(), counting(8)) == c.expected);
  }
}

TEST_CASE("Gather with constant indices") {
  OnnxBuilder file(13);
  file.input("x", {2, 4});
  file.integers("indices", {3, 0, -1});
  set(file.node("Gather", {"x", "indices"}, "y"), "axis", int64_t{1});
  CHECK(run_file(file.output("y").bytes(), counting(8)) == std::vector<float>{3, 0, 3, 7, 4, 7});
}

TEST_CASE("indices that do not exist are refused") {
  OnnxBuilder file(13);
  file.input("x", {2, 4});
  file.integers("indices", {4});
  set(file.node("Gather", {"x", "indices"}, "y"), "axis", int64_t{1});
  file.output("y");
  CHECK(Import(file.bytes()).says("'y_node' (Gather): its index 4 does not exist"));
}

TEST_CASE("layout follows Concat, Slice, Pad, Split: no Transpose is left between convolutions") {
  Random random(2);
  OnnxBuilder file(13);
  file.input("x", {1, 4, 6, 6});
  file.floats("w", {6, 6, 1, 1}, random.reals(36, -1, 1));
  file.floats("v", {4, 4, 1, 1}, random.reals(16, -1, 1));
  file.integers("first", {1});
  file.integers("end", {3});
  file.integers("axes", {1});
  file.integers("pads", {0, 0, 1, 0, 0, 0, 0, 2});
  file.floats("value", {}, {0.5f});
  file.node("Conv", {"x", "v"}, "c");
  file.node("Slice", {"c", "first", "end", "axes"}, "s");
  set(file.node("Concat", {"s", "c"}, "j"), "axis", int64_t{1});
  file.node("Pad", {"j", "pads", "value"}, "p");
  file.node("Conv", {"p", "w"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kTranspose) == 1);  // of the output
  CHECK(import.node(Op::kConcat).options.as<ConcatOptions>().axis == 3);
  CHECK(import.node(Op::kPad).options.as<PadOptions>().before[1] == 1);
  CHECK(import.node(Op::kPad).options.as<PadOptions>().value == 0.5f);
  CHECK(import.node(Op::kStridedSlice).options.as<StridedSliceOptions>().begin[3] == 1);
  CHECK(run_import<float>(import, random.reals(144, -1, 1)).size() == 6 * 7 * 8);
}

TEST_CASE("a channel shuffle that is taken apart becomes slices") {
  OnnxBuilder file(13);
  file.input("x", {1, 6, 1, 2});
  file.integers("apart", {3, 2, 2});
  file.integers("together", {2, -1, 3, 1, 2});
  file.node("Relu", {"x"}, "r");
  file.node("Reshape", {"r", "apart"}, "a");
  set(file.node("Transpose", {"a"}, "t"), "perm", Ints{1, 0, 2});
  file.node("Reshape", {"t", "together"}, "b");
  auto& index = file.integers("one", {1});
  index.dims.clear();
  set(file.node("Gather", {"b", "one"}, "y"), "axis", int64_t{0});
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kClamp, Op::kStridedSlice});
  CHECK(run_import<float>(import, counting(12)) == std::vector<float>{2, 3, 6, 7, 10, 11});
}

TEST_CASE("shape arithmetic is folded") {
  OnnxBuilder file(13);
  file.input("x", {2, 3, 4});
  file.node("Shape", {"x"}, "shape");
  file.integers("zero", {0}).dims.clear();
  file.integers("axis", {0});
  file.integers("rest", {-1});
  file.integers("two", {2});
  file.node("Gather", {"shape", "zero"}, "batch");
  file.node("Unsqueeze", {"batch", "axis"}, "batch1");
  set(file.node("Cast", {"batch1"}, "real"), "to", int64_t{1});
  set(file.node("Cast", {"real"}, "whole"), "to", int64_t{7});
  file.node("Mul", {"whole", "two"}, "double");
  set(file.node("Concat", {"double", "rest"}, "target"), "axis", int64_t{0});
  file.node("Reshape", {"x", "target"}, "r");
  file.node("Relu", {"r"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{4, 6});
}

TEST_CASE("Resize: modes and their coordinates") {
  const struct {
    const char *mode, *coordinates, *rounding;
    Interpolation interpolation;
    Coordinates expected;
    NearestRounding nearest;
  } cases[] = {
      {"nearest", "asymmetric", "floor", Interpolation::kNearest, Coordinates::kAsymmetric,
       NearestRounding::kFloor},
      {"nearest", "half_pixel", "round_prefer_ceil", Interpolation::kNearest, Coordinates::kHalfPixel,
       NearestRounding::kHalfUp},
      {"linear", "align_corners", "floor", Interpolation::kBilinear, Coordinates::kAlignCorners,
       NearestRounding::kFloor},
      {"linear", "pytorch_half_pixel", "floor", Interpolation::kBilinear, Coordinates::kHalfPixel,
       NearestRounding::kFloor},
  };
  for (const auto& c : cases) {
    OnnxBuilder file(13);
    file.input("x", {1, 2, 3, 4});
    file.floats("scales", {4}, {1, 1, 2, 3});
    auto& node = file.node("Resize", {"x", "", "scales"}, "y");
    set(node, "mode", c.mode);
    set(node, "coordinate_transformation_mode", c.coordinates);
    set(node, "nearest_mode", c.rounding);
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    const ResizeOptions& resample = import.node(Op::kResize).options.as<ResizeOptions>();
    CHECK(resample.interpolation == c.interpolation);
    CHECK(resample.coordinates == c.expected);
    CHECK(resample.rounding == c.nearest);
    CHECK(import.dims(import.output()) == std::vector<int32_t>{1, 2, 6, 12});
  }
}

}  // namespace intaglio::test::import_onnx_pieces_test
