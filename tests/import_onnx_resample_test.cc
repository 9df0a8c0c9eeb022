// ONNX Resize: what onnxruntime 1.32 gives of one picture, and other ranks.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tensor_places.h"

namespace intaglio::test::import_onnx_resample_test {
namespace {

using Reals = std::vector<float>;
using Words = std::vector<std::pair<const char*, const char*>>;

const Reals kPicture{1, 2, 3, 4, 5, 6, -3, 8, 9, 10, 11, 12, 9, 14, 15, 16};

struct Case {
  Words words;  // attributes
  Reals scales;
  Ints sizes;
  Reals expected;
  std::function<void(OnnxBuilder::Node&)> more = [](OnnxBuilder::Node&) {};
  Reals region = {};
};

const char kMode[] = "mode", kPlaces[] = "coordinate_transformation_mode", kNearest[] = "nearest_mode",
           kPolicy[] = "keep_aspect_ratio_policy";

OnnxBuilder file_of(const Case& c, const Ints& dims) {
  OnnxBuilder file(18);
  file.input("x", dims);
  if (!c.region.empty()) file.floats("region", {static_cast<int64_t>(c.region.size())}, c.region);
  if (!c.scales.empty()) file.floats("scales", {static_cast<int64_t>(c.scales.size())}, c.scales);
  if (!c.sizes.empty()) file.integers("sizes", c.sizes);
  std::vector<std::string> inputs{"x", c.region.empty() ? "" : "region", c.scales.empty() ? "" : "scales"};
  if (!c.sizes.empty()) inputs.emplace_back("sizes");
  auto& node = file.node("Resize", inputs, "y");
  for (const auto& [name, value] : c.words) set(node, name, value);
  c.more(node);
  file.output("y");
  return file;
}

void check(const Case& c, const Ints& dims, const Reals& x) {
  const OnnxBuilder file = file_of(c, dims);
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  const Reals y = run_import<float>(import, x);
  REQUIRE(y.size() == c.expected.size());
  for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == doctest::Approx(c.expected[i]).epsilon(2e-6));
}

}  // namespace

TEST_CASE("a picture as onnxruntime resizes it") {
  const auto with = [](const char* name, auto value) {
    return [=](OnnxBuilder::Node& node) { set(node, name, value); };
  };
  const auto one = int64_t{1};
  const Case cases[] = {
      {{{kMode, "cubic"}},
       {1, 1, 0.8f, 0.8f},
       {},
       {1.48295736f, 2.29212236f, 3.5933919f, 7.02439976f, 4.79757643f, 6.12781334f, 9.61850452f, 13.7886467f,
        14.8088217f}},
      {{{kMode, "cubic"}},
       {1, 1, 1.5f, 0.6f},
       {},
       {0.955536842f, 3.39473534f, 3.07099319f, -0.647058845f, 6.26484299f, -1.70833659f, 8.78783512f,
        9.01388931f, 10.0405674f, 13.9411764f, 10.4174223f, 15.2631578f},
       [&](OnnxBuilder::Node& node) {
         set(node, "cubic_coeff_a", -0.5f);
         set(node, "exclude_outside", one);
       }},
      {{{kMode, "linear"}},
       {1, 1, 0.6f, 0.6f},
       {},
       {2.875f, 2.41666698f, 8.81944466f, 9.76543331f},
       with("antialias", one)},
      {{{kMode, "cubic"}},
       {1, 1, 0.6f, 0.5f},
       {},
       {2.3095367f, 2.59974885f, 9.18035316f, 10.7512627f},
       [&](OnnxBuilder::Node& node) {
         set(node, "antialias", one);
         set(node, "exclude_outside", one);
       }},
      {{{kMode, "cubic"}},
       {1, 1, 0.6f, 0.5f},
       {},
       {2.2238555f, 2.80596161f, 9.01288223f, 10.6491356f},
       with("antialias", one)},
      {{{kMode, "nearest"}, {kPlaces, "tf_crop_and_resize"}},
       {},
       {1, 1, 2, 3},
       {-3, -3, -3, 15, 15, 15},
       with("cubic_coeff_a", -0.75f),
       {0, 0, 0.4f, 0.6f, 1, 1, 0.9f, 0.8f}},
      {{{kMode, "linear"}, {kPlaces, "tf_crop_and_resize"}},
       {},
       {1, 1, 3, 3},
       {1.20000005f, 0.700001597f, 3.40000153f, 12.4000006f, 12.7000008f, 13.000001f, 10, 10, 10},
       with("extrapolation_value", 10.0f),
       {0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 0.8f}},
      {{{kMode, "linear"}, {kPlaces, "half_pixel_symmetric"}},
       {1, 1, 1.6f, 0.7f},
       {},
       {1.78571427f, 3.21428561f, 4.03571415f, 1.04464233f, 6.53571415f, 1.58035636f, 9.0357151f, 8.99107075f,
        11.1607141f, 12.9642859f, 12.9285717f, 15.2142859f}},
      {{{kMode, "nearest"}, {kPlaces, "asymmetric"}, {kNearest, "floor"}},
       {1, 1, 0.7f, 1.3f},
       {},
       {1, 1, 2, 3, 4, 5, 5, 6, -3, 8}},
      {{{kMode, "linear"}},
       {1, 1, 0.7f, 1.3f},
       {},
       {1.85714293f, 2.51098919f, 2.37362647f, 2.31868124f, 4.73626423f, 7.5714283f, 8.22527504f, 7.48351574f,
        6.87911987f, 10.3956051f}},
      {{{kMode, "nearest"}, {kPolicy, "not_larger"}},
       {},
       {3, 7},
       {1, 2, 4, 5, 6, 8, 9, 14, 16},
       with("axes", Ints{2, 3})},
      {{{kMode, "linear"}, {kPlaces, "pytorch_half_pixel"}}, {}, {1, 1, 1, 2}, {1.5f, 3.5f}},
      {{{kMode, "nearest"}, {kPlaces, "tf_half_pixel_for_nn"}, {kNearest, "floor"}},
       {1, 1, 1.5f, 0.75f},
       {},
       {1, 3, 4, 5, -3, 8, 5, -3, 8, 9, 11, 12, 9, 15, 16, 9, 15, 16}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.words[0].second);
    CAPTURE(c.expected[0]);
    check(c, {1, 1, 4, 4}, kPicture);
  }
}

TEST_CASE("one dimension, three dimensions, and axes that no picture has") {
  check({{{kMode, "nearest"}, {kPlaces, "asymmetric"}, {kNearest, "floor"}},
         {1, 1, 2},
         {},
         {1, 1, 2, 2, 3, 3, 4, 4}},
        {1, 2, 2}, {1, 2, 3, 4});
  check({{{kMode, "linear"}}, {1, 1, 2}, {}, {1, 1.5f, 2.5f, 3}}, {1, 1, 2}, {1, 3});
  // 8 corners of a cube, with the sides 1, 2 and 4: halfway between them along each axis.
  check({{{kMode, "linear"}, {kPlaces, "align_corners"}},
         {},
         {1, 1, 3, 2, 3},
         {0, 2, 4, 2, 4, 6, 0.5f, 2.5f, 4.5f, 2.5f, 4.5f, 6.5f, 1, 3, 5, 3, 5, 7}},
        {1, 1, 2, 2, 2}, {0, 4, 2, 6, 1, 5, 3, 7});
  check({{{kMode, "nearest"}}, {2, 1}, {}, {1, 2, 1, 2, 3, 4, 3, 4}}, {2, 2}, {1, 2, 3, 4});
  check({{{kMode, "linear"}, {kPlaces, "align_corners"}}, {}, {3, 2}, {1, 2, 2, 3, 3, 4}}, {2, 2},
        {1, 2, 3, 4});
}

TEST_CASE("a Resize that is wrong is refused") {
  const auto message = [](const Case& c) { return Import(file_of(c, {1, 1, 4, 4}).bytes()).message(); };
  const auto says = [&](const Case& c, const char* part) {
    return message(c).find(part) != std::string::npos;
  };
  CHECK(says({{{kMode, "sinc"}}, {1, 1, 2, 2}, {}, {}}, "mode 'sinc' is not known"));
  CHECK(says({{{kPlaces, "x"}}, {1, 1, 2, 2}, {}, {}}, "coordinate_transformation_mode 'x' is not known"));
  CHECK(says({{{kNearest, "x"}}, {1, 1, 2, 2}, {}, {}}, "nearest_mode 'x' is not known"));
  CHECK(says({{{kPolicy, "x"}}, {1, 1, 2, 2}, {}, {}}, "keep_aspect_ratio_policy 'x' is not known"));
  CHECK(says({{{kMode, "linear"}}, {1, 1, 2}, {}, {}}, "it has 3 scales or sizes; 4 are expected"));
  CHECK(says({{{kMode, "linear"}}, {1, 1, 2, 1e9f}, {}, {}}, "its scale 1e+09 does not fit [1, 1, 4, 4]"));
  CHECK(says({{{kMode, "linear"}}, {1, 1, 0, 1}, {}, {}}, "its scale 0 does not fit"));
  CHECK(says({{{kMode, "cubic"}}, {}, {1, 1, 1, 500000000}, {}}, "larger than"));
  // The largest factor of all axes: 2^31 - 1.
  CHECK(says({{{kMode, "linear"}, {kPolicy, "not_smaller"}}, {}, {1, 1, 4, INT32_MAX}, {}},
             "its size 2.14748e+09 is not allowed"));
  CHECK(says({{{kMode, "linear"}, {kPolicy, "not_larger"}}, {}, {1, 1, 4, 0}, {}},
             "its size 0 is not allowed"));
  CHECK(says({{{kMode, "linear"}, {kPlaces, "tf_crop_and_resize"}}, {}, {1, 1, 2, 2}, {}},
             "its region of interest is missing"));
}

}  // namespace intaglio::test::import_onnx_resample_test
