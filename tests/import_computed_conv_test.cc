// Convolutions whose weights a run computes: the same as with these weights as constants.
#include <cmath>
#include <numeric>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_computed_conv_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;
using Dims = std::vector<int64_t>;
using Ints = std::vector<int32_t>;

Reals random_values(uint32_t seed, const Dims& dims) {
  Random random(seed);
  Reals values(
      static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>())));
  for (float& value : values) value = static_cast<float>(random.between(-64, 64)) / 16.0f;
  return values;
}

struct OnnxCase {
  const char* op;
  Dims x, w;
  int64_t groups, channels;
  Dims strides, dilations, pads;
};

// With weights times 1, which a run computes, or with the weights as they are.
std::string onnx_file_of(const OnnxCase& c, bool is_computed) {
  OnnxBuilder file(13);
  file.input("x", c.x);
  file.floats("w", c.w, random_values(2, c.w));
  file.floats("b", {c.channels}, random_values(3, {c.channels}));
  const size_t rank = c.x.size();
  if (is_computed) {
    file.node("Sub", {"x", "x"}, "zeros");
    file.node("ReduceMax", {"zeros"}, "zero");
    file.node("Exp", {"zero"}, "one");
    file.node("Mul", {"w", "one"}, "weights");
  }
  auto& node = file.node(c.op, {"x", is_computed ? "weights" : "w", "b"}, "y");
  set(node, "group", c.groups);
  set(node, "strides", c.strides);
  set(node, "dilations", c.dilations);
  set(node, "pads", c.pads);
  set(node, "kernel_shape", Dims(c.w.end() - static_cast<std::ptrdiff_t>(rank - 2), c.w.end()));
  return file.output("y").bytes();
}

void check_near(const Reals& found, const Reals& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::fabs(found[i] - expected[i]) <= 1e-4f);
}

}  // namespace

TEST_CASE("ONNX: Conv and ConvTranspose, with groups, strides, dilations and pads, of pictures and lines") {
  const OnnxCase cases[] = {
      {"Conv", {2, 4, 7, 6}, {6, 4, 3, 2}, 1, 6, {2, 1}, {1, 2}, {1, 0, 2, 1}},
      {"Conv", {1, 4, 7, 6}, {6, 2, 3, 3}, 2, 6, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {"Conv", {1, 3, 5, 5}, {3, 1, 2, 2}, 3, 3, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {"Conv", {1, 4, 9}, {2, 4, 3}, 1, 2, {2}, {2}, {2, 1}},
      {"ConvTranspose", {2, 4, 4, 3}, {4, 3, 3, 2}, 1, 3, {2, 3}, {1, 1}, {1, 0, 0, 1}},
      {"ConvTranspose", {1, 4, 4, 3}, {4, 2, 3, 2}, 2, 4, {2, 1}, {2, 1}, {0, 0, 1, 0}},
      {"ConvTranspose", {1, 4, 5}, {4, 3, 4}, 1, 3, {2}, {1}, {1, 1}},
  };
  for (const OnnxCase& c : cases) {
    CAPTURE(c.op);
    CAPTURE(c.x.size());
    CAPTURE(c.groups);
    const Reals x = random_values(1, c.x);
    check_near(run_file(onnx_file_of(c, true), x), run_file(onnx_file_of(c, false), x));
  }
}

TEST_CASE("ONNX: computed weights that do not fit are refused") {
  OnnxCase c{"Conv", {1, 4, 7, 6}, {6, 3, 3, 3}, 1, 6, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  CHECK(Import(onnx_file_of(c, true))
            .says("1 groups and weights [6, 3, 3, 3] do not fit an input of 4 channels"));
  c = {"Conv", {1, 4, 7, 6}, {6, 4, 3, 3}, 0, 6, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  CHECK(Import(onnx_file_of(c, true)).says("0 groups and weights"));
  c = {"ConvTranspose", {1, 4, 7, 6}, {4, 4, 3, 3}, 3, 6, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  CHECK(Import(onnx_file_of(c, true)).says("3 groups and weights [4, 4, 3, 3] do not fit each other"));
  c = {"Conv", {1, 4, 7, 6}, {6, 4, 3, 3}, 1, 5, {1, 1}, {1, 1}, {0, 0, 0, 0}};
  CHECK(Import(onnx_file_of(c, true)).says("its bias has 5 values for 6 channels"));
  c = {"Conv", {1, 2, 4, 4, 4}, {2, 2, 1, 1, 1}, 1, 2, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}};
  CHECK(Import(onnx_file_of(c, true)).says("must be a constant"));
  // Asked before lists of its windows are made, which would have 2^28 numbers along one axis alone.
  OnnxBuilder file(13);
  file.input("x", {1, 1, 1 << 26, 4});
  file.integers("from", {0});
  file.integers("to", {4});
  file.integers("axis", {2});
  file.node("Slice", {"x", "from", "to", "axis"}, "w");
  file.node("Conv", {"x", "w"}, "y");
  Import huge(file.output("y").bytes());
  CAPTURE(huge.message());
  CHECK(huge.says("a tensor of shape [67108861, 4, 1, 4] is larger than the limit"));
}

TEST_CASE("TFLite: CONV_2D and DEPTHWISE_CONV_2D, with a fused activation") {
  enum Code : int32_t { kSub = 41, kReduceMax = 82, kExp = 47, kMul = 18 };
  for (const bool is_depthwise : {false, true}) {
    CAPTURE(is_depthwise);
    const Dims of_x{1, 6, 5, 4}, of_w = is_depthwise ? Dims{1, 3, 2, 8} : Dims{8, 3, 2, 4};
    const auto file_of = [&](bool is_computed) {
      TfliteBuilder file;
      const Ints shape{1, 6, 5, 4};
      const int32_t x = file.tensor("x", kTfliteFloat, shape),
                    y = file.tensor("y", kTfliteFloat, {1, 3, 5, 8});
      int32_t w = file.constant("w", kTfliteFloat, {of_w.begin(), of_w.end()}, random_values(2, of_w));
      const int32_t b = file.constant("b", kTfliteFloat, {8}, random_values(3, {8}));
      if (is_computed) {
        const auto options = [&] { return tflite::CreateReducerOptions(file.fbb(), true).Union(); };
        const int32_t zeros = file.tensor("zeros", kTfliteFloat, shape),
                      zero = file.tensor("zero", kTfliteFloat, {1, 1, 1, 1}),
                      one = file.tensor("one", kTfliteFloat, {1, 1, 1, 1}),
                      weights = file.tensor("weights", kTfliteFloat, {of_w.begin(), of_w.end()});
        file.op(kSub, {x, x}, {zeros}, Options::SubOptions, tflite::CreateSubOptions(file.fbb()).Union());
        file.op(kReduceMax, {zeros, file.constant("axes", kTfliteInt32, {4}, Ints{0, 1, 2, 3})}, {zero},
                Options::ReducerOptions, options());
        file.op(kExp, {zero}, {one});
        file.op(kMul, {w, one}, {weights}, Options::MulOptions, tflite::CreateMulOptions(file.fbb()).Union());
        w = weights;
      }
      if (is_depthwise)
        file.op(kTfliteDepthwise, {x, w, b}, {y}, Options::DepthwiseConv2DOptions,
                tflite::CreateDepthwiseConv2DOptions(file.fbb(), tflite::Padding::Same, 1, 2, 2,
                                                     tflite::Activation::Relu)
                    .Union());
      else
        file.op(kTfliteConv, {x, w, b}, {y}, Options::Conv2DOptions,
                tflite::CreateConv2DOptions(file.fbb(), tflite::Padding::Same, 1, 2, tflite::Activation::Relu)
                    .Union());
      return file.finish({x}, {y});
    };
    const Reals x = random_values(1, of_x);
    check_near(run_file(file_of(true), x), run_file(file_of(false), x));
  }
}

TEST_CASE("TFLite: a convolution of codes, whose bias has codes of its own") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {1, 2, 2, 1}, TfliteScales{{0.5f}, 1}),
                y = file.tensor("y", kTfliteInt8, {1, 1, 1, 1}, TfliteScales{{0.5f}, -3}),
                b = file.constant("b", kTfliteInt32, {1}, Ints{4}, TfliteScales{{0.25f}});
  file.op(kTfliteConv, {x, x, b}, {y}, Options::Conv2DOptions,
          tflite::CreateConv2DOptions(file.fbb(), tflite::Padding::Valid, 1, 1).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  // 1, 2, -1 and 0 in reals: a sum of squares of 6, and a bias of 1.
  using Codes = std::vector<int8_t>;
  CHECK(run_import<int8_t>(import, Codes{3, 5, -1, 1}) == Codes{14 - 3});
}

}  // namespace intaglio::test::import_computed_conv_test
