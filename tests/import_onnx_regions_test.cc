// ONNX operators that sample a picture at places that a run computes.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

using Reals = std::vector<float>;

void check_near(const Reals& found, const Reals& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

// Regions of x [1, 1, 4, 4] as `height` x 2.
OnnxBuilder regions_of(const Reals& corners, int64_t ratio, const char* mode, int64_t height = 2) {
  OnnxBuilder file(16);
  file.input("x", {1, 1, 4, 4});
  const auto count = static_cast<int64_t>(corners.size() / 4);
  file.floats("corners", {count, 4}, corners);
  file.integers("pictures", std::vector<int64_t>(static_cast<size_t>(count)));
  auto& node = file.node("RoiAlign", {"x", "corners", "pictures"}, "y");
  set(node, "output_height", height);
  set(node, "output_width", int64_t{2});
  set(node, "sampling_ratio", ratio);
  set(node, "coordinate_transformation_mode", mode);
  file.output("y");
  return file;
}

const Reals kCounted{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace

TEST_CASE("a deformed convolution reads between pixels, zeros outside, under a mask") {
  OnnxBuilder file(19);
  file.input("x", {1, 1, 3, 3});
  file.floats("weights", {1, 1, 1, 1}, {2});
  Reals offset(9, 0.0f);
  offset.resize(18, 0.5f);  // half a pixel to the right
  file.floats("offset", {1, 2, 3, 3}, offset);
  file.floats("bias", {1}, {100});
  file.floats("mask", {1, 1, 3, 3}, {1, 1, 1, 1, 0, 1, 1, 1, 0.5f});
  set(file.node("DeformConv", {"x", "weights", "offset", "bias", "mask"}, "y"), "kernel_shape",
      std::vector<int64_t>{1, 1});
  file.output("y");
  check_near(run_file(file.bytes(), {1, 2, 3, 4, 5, 6, 7, 8, 9}),
             {103, 105, 103, 109, 100, 106, 115, 117, 104.5f});
}

TEST_CASE("offsets that a run computes move each tap of each group of channels") {
  OnnxBuilder file(19);
  file.input("x", {1, 2, 2, 2});
  file.floats("weights", {1, 2, 1, 2}, {1, 10, 100, 1000});
  file.floats("zero", {}, {0});
  file.floats("steps", {1, 8, 1, 1}, {0, 0, 0, 0, 1, 0, 0, -1});  // (down, right) of 2 taps of 2 groups
  file.floats("wide", {1, 8, 2, 1}, Reals(16, 0.0f));
  file.node("Mul", {"x", "zero"}, "nothing");
  set(file.node("ReduceMean", {"nothing"}, "number"), "keepdims", int64_t{1});
  file.node("Add", {"wide", "steps"}, "constant");
  file.node("Add", {"constant", "number"}, "offset");
  auto& node = file.node("DeformConv", {"x", "weights", "offset"}, "y");
  set(node, "offset_group", int64_t{2});
  file.output("y");
  // The first group as it is; of the second the first tap is a row lower, the second a column to the left. Channels come last.
  check_near(run_file(file.bytes(), {1, 5, 2, 6, 3, 7, 4, 8}), {1 + 20 + 700 + 5000, 3 + 40 + 0 + 7000});
}

TEST_CASE("regions are averages of samples, and nothing outside the picture") {
  check_near(run_file(regions_of({0, 0, 4, 4, -9, -9, -5, -5}, 1, "half_pixel").bytes(), kCounted),
             {2.5f, 4.5f, 10.5f, 12.5f, 0, 0, 0, 0});
  check_near(run_file(regions_of({0, 0, 2, 2}, 2, "output_half_pixel").bytes(), kCounted),
             {2.5f, 3.5f, 6.5f, 7.5f});
  CHECK(Import(regions_of({0, 0, 4, 4}, 0, "half_pixel").bytes()).says("sampling_ratio 0 is not supported"));
}

TEST_CASE("sizes that a file gives are checked before anything is made of them") {
  for (const int64_t height : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1} << 40, INT64_MAX}) {
    CAPTURE(height);
    CHECK(Import(regions_of({0, 0, 4, 4}, 2, "half_pixel", height).bytes()).says("its output is "));
  }
  for (const std::string name : {"strides", "dilations", "pads"}) {
    CAPTURE(name);
    OnnxBuilder file(19);
    file.input("x", {1, 1, 3, 3});
    file.floats("weights", {1, 1, 1, 1}, {2});
    file.floats("offset", {1, 2, 3, 3}, Reals(18, 0.0f));
    set(file.node("DeformConv", {"x", "weights", "offset"}, "y"), name,
        std::vector<int64_t>(name == "pads" ? 4 : 2, INT64_MAX));
    file.output("y");
    CHECK(Import(file.bytes()).says((name + " holds 9223372036854775807").c_str()));
  }
}
