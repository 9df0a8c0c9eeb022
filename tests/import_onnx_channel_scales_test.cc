// Activations with a scale for each channel, as NNCF writes them before depthwise convolutions: one scale, and the
// channels' own in the weights on both sides.
#include <array>

#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_onnx_channel_scales_test {
namespace {

constexpr int kChannels = 3, kSide = 5;

// Conv 1 x 1, BatchNormalization, a bound, a quantizer a channel, depthwise 3 x 3 with padding, a quantizer.
struct DepthwiseNetwork {
  explicit DepthwiseNetwork(uint32_t seed) : random(seed) {
    file.input("x", {1, 2, kSide, kSide});
    scale(file, "in", 1.0f / 64, Type::INT8, 3);
    scale(file, "out", 0.125f, Type::INT8, -5);
    weights("w", {kChannels, 2, 1, 1});
    weights("d", {kChannels, 1, 3, 3});
    quantize(file, "x", "in", "a");
    file.floats("b", {kChannels}, random.reals(kChannels, -1, 1));
    file.node("Conv", {"a", "wf", "b"}, "c");
  }
  void weights(const std::string& name, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<int32_t> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(random.between(-127, 127));
    codes(file, name, dims, Type::INT8, values);
    file.floats(name + "s", {kChannels}, random.reals(kChannels, 0.002f, 0.02f));
    codes(file, name + "z", {kChannels}, Type::INT8, std::vector<int32_t>(kChannels, 0));
    set(file.node("DequantizeLinear", {name, name + "s", name + "z"}, name + "f"), "axis", int64_t{0});
  }
  void norm() {
    file.floats("gamma", {kChannels}, {0.5f, -1.25f, 2.0f});
    file.floats("beta", {kChannels}, {0.1f, 0.2f, -0.1f});
    file.floats("mean", {kChannels}, {0.05f, 0, -0.2f});
    file.floats("variance", {kChannels}, {1, 0.25f, 4});
    file.node("BatchNormalization", {"c", "gamma", "beta", "mean", "variance"}, "n");
  }
  void qdq(const std::string& x, const std::vector<float>& scales, const std::vector<int32_t>& zeros) {
    file.floats("s", {kChannels}, scales);
    codes(file, "z", {kChannels}, Type::INT8, zeros);
    set(file.node("QuantizeLinear", {x, "s", "z"}, "q"), "axis", int64_t{1});
    set(file.node("DequantizeLinear", {"q", "s", "z"}, "r"), "axis", int64_t{1});
  }
  void end() {
    auto& depthwise = file.node("Conv", {"r", "df"}, "e");
    set(depthwise, "group", int64_t{kChannels});
    set(depthwise, "pads", std::vector<int64_t>{1, 1, 1, 1});
    quantize(file, "e", "out", "y");
    file.output("y");
  }
  // The same file with Q, DQ as they stand, each operator in FP32: what the numbers are to be. Of NHWC to NCHW.
  std::vector<float> expected(const std::vector<float>& x, bool has_norm, float most,
                              const std::vector<float>& scales, const std::vector<int32_t>& zeros) const;

  OnnxBuilder file{13};
  Random random;
};

const Type& initializer(const OnnxBuilder& file, const std::string& name) {
  for (const Type& tensor : const_cast<OnnxBuilder&>(file).graph().initializer)
    if (tensor.name == name) return tensor;
  FAIL("no constant " << name);
  std::abort();
}

std::vector<double> reals_of(const OnnxBuilder& file, const std::string& name) {
  const onnx_file::Data& raw = initializer(file, name).raw_data;
  std::vector<float> values(raw.size() / sizeof(float));
  std::memcpy(values.data(), raw.data(), raw.size());
  return {values.begin(), values.end()};
}

std::vector<double> weights_of(const OnnxBuilder& file, const std::string& name) {
  const Type& stored = initializer(file, name);
  const std::vector<double> scales = reals_of(file, name + "s");
  const int each = stored.int32_data.count() / kChannels;
  std::vector<double> values;
  for (int i = 0; i < stored.int32_data.count(); ++i)
    values.push_back(stored.int32_data[i] * scales[static_cast<size_t>(i / each)]);
  return values;
}

double rounded(double x, double scale, int32_t zero) {
  return (std::clamp(std::nearbyint(x / scale) + zero, -128.0, 127.0) - zero) * scale;
}

std::vector<float> DepthwiseNetwork::expected(const std::vector<float>& x, bool has_norm, float most,
                                              const std::vector<float>& scales,
                                              const std::vector<int32_t>& zeros) const {
  const auto w = weights_of(file, "w"), d = weights_of(file, "d"), b = reals_of(file, "b");
  std::vector<double> middle(kSide * kSide * kChannels, 0.0);
  for (size_t p = 0; p < kSide * kSide; ++p)
    for (size_t c = 0; c < kChannels; ++c) {
      double sum = b[c];
      for (size_t i = 0; i < 2; ++i)
        sum += w[c * 2 + i] * rounded(static_cast<double>(x[p * 2 + i]), 1.0 / 64, 3);
      if (has_norm)
        sum = (sum - reals_of(file, "mean")[c]) / std::sqrt(reals_of(file, "variance")[c] + 1e-5) *
                  reals_of(file, "gamma")[c] +
              reals_of(file, "beta")[c];
      sum = std::clamp(sum, 0.0, static_cast<double>(most));
      middle[p * kChannels + c] =
          scales[c] == 0 ? 0.0 : rounded(sum, static_cast<double>(scales[c]), zeros[c]);
    }
  std::vector<float> result;
  for (size_t c = 0; c < kChannels; ++c)
    for (int row = 0; row < kSide; ++row)
      for (int column = 0; column < kSide; ++column) {
        double sum = 0;
        for (int tap = 0; tap < 9; ++tap) {
          const int at_row = row + tap / 3 - 1, at_column = column + tap % 3 - 1;
          if (at_row < 0 || at_row >= kSide || at_column < 0 || at_column >= kSide) continue;
          sum += d[c * 9 + static_cast<size_t>(tap)] *
                 middle[static_cast<size_t>(at_row * kSide + at_column) * kChannels + c];
        }
        result.push_back(static_cast<float>(rounded(sum, 0.125, -5)));
      }
  return result;
}

// Values that differ, which must be one code apart at most and few: sums that lie between two codes.
void check_near(const std::vector<float>& got, const std::vector<float>& expected) {
  REQUIRE(got.size() == expected.size());
  int different = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got[i] - expected[i]) <= 0.125f);
    different += got[i] != expected[i];
  }
  CHECK(different <= 1);
}

int32_t float_layers(Import& import) {
  int32_t count = 0;
  for (const GraphNode& node : import.graph().nodes)
    if (node.op == Op::kConv2d || node.op == Op::kDepthwiseConv2d)
      count += import.tensor(node.inputs[1]).dtype == DType::kF32;
  return count;
}

}  // namespace

TEST_CASE("a scale a channel before a depthwise convolution goes into the weights on both sides") {
  const std::vector<float> scales{0.02f, 0.005f, 0.011f};
  const std::vector<int32_t> zeros(kChannels, -128);
  for (const bool has_norm : {false, true})
    for (const float most : {INFINITY, 6.0f}) {  // each channel's codes end below 6
      CAPTURE(has_norm);
      CAPTURE(most);
      DepthwiseNetwork net(has_norm ? 3 : 4);
      if (has_norm) net.norm();
      net.file.floats("zero", {}, {0});
      net.file.floats("most", {}, {most});
      if (std::isinf(most))
        net.file.node("Relu", {has_norm ? "n" : "c"}, "relu");
      else
        net.file.node("Clip", {has_norm ? "n" : "c", "zero", "most"}, "relu");
      net.qdq("relu", scales, zeros);
      net.end();
      Import import(net.file.bytes());
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kConv2d, Op::kDepthwiseConv2d, Op::kTranspose,
                                            Op::kDequantize});
      const TensorInfo& middle = import.tensor(import.node(Op::kDepthwiseConv2d).inputs[0]);
      CHECK(middle.quantization.scales[0] == 0.02f);
      CHECK(middle.quantization.zero_point == -128);
      const std::vector<float> x = net.random.reals(2 * kSide * kSide, -2, 2);
      check_near(run_import<float>(import, x), net.expected(x, has_norm, most, scales, zeros));
    }
}

TEST_CASE("codes of weights stay, and their scales change as far as the channel's scale does") {
  DepthwiseNetwork net(5);
  net.file.node("Relu", {"c"}, "relu");
  net.qdq("relu", {0.02f, 0.005f, 0.01f}, {-128, -128, -128});
  net.end();
  Import import(net.file.bytes());
  const TensorInfo& w = import.tensor(import.node(Op::kConv2d).inputs[1]);
  const TensorInfo& d = import.tensor(import.node(Op::kDepthwiseConv2d).inputs[1]);
  const Type &own_w = initializer(net.file, "w"), &own_d = initializer(net.file, "d");
  for (int i = 0; i < own_w.int32_data.count(); ++i)
    CHECK(static_cast<int8_t>(w.constant.data[i]) == own_w.int32_data[i]);
  for (int i = 0; i < own_d.int32_data.count(); ++i)  // [kh, kw, c] of [c, 1, kh, kw]
    CHECK(static_cast<int8_t>(d.constant.data[i % 9 * kChannels + i / 9]) == own_d.int32_data[i]);
  const std::array<double, 3> stretched{1, 4, 2};
  for (size_t c = 0; c < kChannels; ++c) {
    CHECK(static_cast<double>(w.quantization.scales[c]) ==
          doctest::Approx(reals_of(net.file, "ws")[c] * stretched[c]).epsilon(1e-6));
    CHECK(static_cast<double>(d.quantization.scales[c]) ==
          doctest::Approx(reals_of(net.file, "ds")[c] / stretched[c]).epsilon(1e-6));
  }
}

TEST_CASE(
    "a bound within a channel's codes stays behind the layer's FP32 result; behind zero points that differ a layer is in FP32, and "
    "said") {
  const std::vector<float> scales{0.02f, 0.005f, 0.011f};
  for (const bool has_zeros : {false, true}) {
    CAPTURE(has_zeros);
    const std::vector<int32_t> zeros =
        has_zeros ? std::vector<int32_t>{-128, -100, -128} : std::vector<int32_t>(kChannels, -128);
    DepthwiseNetwork net(6);
    net.file.floats("zero", {}, {0});
    net.file.floats("most", {}, {has_zeros ? 6.0f : 1.0f});
    net.file.node("Clip", {"c", "zero", "most"}, "relu");
    net.qdq("relu", scales, zeros);
    net.end();
    Import import(net.file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK((float_layers(import) >= 1) == has_zeros);
    CHECK(import.notes(" of 2 layers with weights stay in FP32: node '") == has_zeros);
    const std::vector<float> x = net.random.reals(2 * kSide * kSide, -2, 2);
    check_near(run_import<float>(import, x), net.expected(x, false, has_zeros ? 6.0f : 1.0f, scales, zeros));
  }
}

TEST_CASE("FakeQuantize with a range a channel, one of them dead") {
  DepthwiseNetwork net(7);
  net.file.node("Relu", {"c"}, "relu");
  const std::vector<float> scales{0.02f, 0, 0.01f};
  net.file.floats("low", {1, kChannels, 1, 1}, {0, 0, 0});
  net.file.floats("high", {1, kChannels, 1, 1}, {0.02f * 255, 0, 0.01f * 255});
  auto& fake = net.file.node("FakeQuantize", {"relu", "low", "high", "low", "high"}, "r");
  fake.domain = "org.openvinotoolkit";
  set(fake, "levels", int64_t{256});
  net.end();
  Import import(net.file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(float_layers(import) == 0);
  const std::vector<float> x = net.random.reals(2 * kSide * kSide, -2, 2);
  check_near(run_import<float>(import, x),
             net.expected(x, false, INFINITY, scales, std::vector<int32_t>(kChannels, -128)));
}

// As NNCF's MIXED preset gives a channel that is nearly dead, wherever it stands.
TEST_CASE("a channel far below the others has their zero point, whatever its own is") {
  for (const size_t dead : {size_t{0}, size_t{1}, size_t{2}}) {
    CAPTURE(dead);
    std::vector<float> scales{0.02f, 0.015f, 0.01f};
    std::vector<int32_t> zeros(kChannels, -128);
    scales[dead] = 6.3e-6f;
    zeros[dead] = 7;
    DepthwiseNetwork net(9);
    net.file.node("Relu", {"c"}, "relu");
    net.qdq("relu", scales, zeros);
    net.end();
    Import import(net.file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(float_layers(import) == 0);
    const std::vector<float> x = net.random.reals(2 * kSide * kSide, -2, 2);
    check_near(run_import<float>(import, x), net.expected(x, false, INFINITY, scales, zeros));
  }
}

TEST_CASE("ranges of FakeQuantize that codes do not have are counted") {
  const auto notes = [](float low, float high) {
    OnnxBuilder file(13);
    file.input("x", {1, 4});
    file.floats("low", {}, {low});
    file.floats("high", {}, {high});
    auto& fake = file.node("FakeQuantize", {"x", "low", "high", "low", "high"}, "y");
    fake.domain = "org.openvinotoolkit";
    set(fake, "levels", int64_t{256});
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    return import.outcome->report.notes;
  };
  CHECK(notes(-128, 127).empty());
  CHECK(notes(-127, 128) ==
        std::vector<std::string>{
            "1 of 1 ranges of FakeQuantize begin an odd number of steps below 0: there a number in "
            "the middle of two codes becomes the other one"});
  CHECK(notes(-127.75f, 127.25f) ==
        std::vector<std::string>{
            "1 of 1 ranges of FakeQuantize do not have 0 among their values; they are moved by "
            "0.25 of a step at most"});
}

}  // namespace intaglio::test::import_onnx_channel_scales_test
