// ONNX operators that sample a picture at places that a run computes.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_regions_test {
namespace {

using Reals = std::vector<float>;

void check_near(const Reals& found, const Reals& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

// Regions of x [1, 1, 4, 4] as `height` x 2.
OnnxBuilder regions_of(const Reals& corners, int64_t ratio, const char* mode, int64_t height = 2,
                       const char* joined = "avg", int64_t opset = 16) {
  OnnxBuilder file(opset);
  file.input("x", {1, 1, 4, 4});
  const auto count = static_cast<int64_t>(corners.size() / 4);
  file.floats("corners", {count, 4}, corners);
  file.integers("pictures", std::vector<int64_t>(static_cast<size_t>(count)));
  auto& node = file.node("RoiAlign", {"x", "corners", "pictures"}, "y");
  set(node, "output_height", height);
  set(node, "output_width", int64_t{2});
  set(node, "sampling_ratio", ratio);
  if (mode != nullptr) set(node, "coordinate_transformation_mode", mode);
  set(node, "mode", joined);
  file.output("y");
  return file;
}

// The definition: samples of each element of the 2 x 2 results, which are joined.
Reals expected_regions(const Reals& x, const Reals& corners, int ratio, bool is_half, bool takes_most) {
  const auto between = [&](double row, double column) {
    if (row < -1 || row > 4 || column < -1 || column > 4) return 0.0;
    row = std::clamp(row, 0.0, 3.0);
    column = std::clamp(column, 0.0, 3.0);
    const auto pixel = [&](double r, double c) { return double{x[static_cast<size_t>(r * 4 + c)]}; };
    const double top = std::floor(row), left = std::floor(column), low = std::min(3.0, top + 1),
                 right = std::min(3.0, left + 1), down = row - top, across = column - left;
    return (1 - down) * ((1 - across) * pixel(top, left) + across * pixel(top, right)) +
           down * ((1 - across) * pixel(low, left) + across * pixel(low, right));
  };
  Reals made;
  for (size_t region = 0; region < corners.size(); region += 4) {
    const double shift = is_half ? 0.5 : 0.0, left = corners[region] - shift,
                 top = corners[region + 1] - shift;
    double width = corners[region + 2] - shift - left, height = corners[region + 3] - shift - top;
    if (!is_half) width = std::max(width, 1.0), height = std::max(height, 1.0);
    for (int i = 0; i < 4; ++i) {
      double sum = 0, most = -1e30;
      for (int sample = 0; sample < ratio * ratio; ++sample) {
        const double row = top + height / 2 * (i / 2 + (sample / ratio + 0.5) / ratio);
        const double column = left + width / 2 * (i % 2 + (sample % ratio + 0.5) / ratio);
        sum += between(row, column);
        most = std::max(most, between(row, column));
      }
      made.push_back(static_cast<float>(takes_most ? most : sum / (ratio * ratio)));
    }
  }
  return made;
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

TEST_CASE("regions join their samples as the mode says, at places as the other mode says") {
  const Reals corners{0.3f, 0.2f, 3.9f, 2.5f, 1, 1, 1.4f, 1.2f, -3, 2, 2, 7}, x = Random(5).reals(16, -1, 1);
  for (const char* const joined : {"avg", "max"}) {
    for (const char* const places : {"half_pixel", "output_half_pixel", static_cast<const char*>(nullptr)}) {
      for (const int64_t opset : {10, 16}) {
        CAPTURE(joined);
        CAPTURE(opset);
        const bool is_half = places == nullptr ? opset == 16 : std::string(places) == "half_pixel";
        for (const int64_t ratio : {1, 2, 3})
          check_near(run_file(regions_of(corners, ratio, places, 2, joined, opset).bytes(), x),
                     expected_regions(x, corners, static_cast<int>(ratio), is_half, joined[0] == 'm'));
      }
    }
  }
  Import most(regions_of(corners, 2, "half_pixel", 2, "max").bytes());
  REQUIRE(most.good());
  CHECK(most.notes("RoiAlign 'y' takes the largest of the interpolated samples"));
}

TEST_CASE("modes of regions that nobody knows are refused") {
  const Reals corners{0, 0, 4, 4};
  CHECK(Import(regions_of(corners, 2, "half_pixel", 2, "sum").bytes()).says("mode 'sum' is not known"));
  CHECK(Import(regions_of(corners, 2, "pixel").bytes())
            .says("coordinate_transformation_mode 'pixel' is not known"));
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
  OnnxBuilder file(19);
  file.input("x", {1, 1, 3, 3});
  file.floats("weights", {1, 1, 1, 1}, {2});
  file.floats("offset", {1, 2, 3, 3}, Reals(18, 0.0f));
  set(file.node("DeformConv", {"x", "weights", "offset"}, "y"), "offset_group", INT64_MIN);
  file.output("y");
  CHECK(Import(file.bytes()).says("it has -9223372036854775808 groups of offsets"));
}

}  // namespace intaglio::test::import_onnx_regions_test
