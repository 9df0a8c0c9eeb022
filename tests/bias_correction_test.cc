// Bias correction moves biases by what other samples will show, too, and not by what these samples alone show.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/calibrate.h"
#include "tests/support/random.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

constexpr int32_t kWidth = 48, kDepth = 6;

// A chain of fully connected layers: each sees one value a channel of a sample.
AlignedBytes chain() {
  ModelBuilder net;
  Random random(17);
  int32_t x = net.tensor("x", DType::kF32, {1, kWidth});
  net.input(x);
  for (int32_t layer = 0; layer < kDepth; ++layer) {
    std::vector<float> weights(kWidth * kWidth), biases(kWidth);
    for (float& w : weights) w = random.real(-0.25f, 0.25f);
    for (float& b : biases) b = random.real(-0.2f, 0.2f);
    const std::string at = std::to_string(layer);
    const int32_t y = net.tensor("y" + at, DType::kF32, {1, kWidth});
    net.node(Op::kFullyConnected,
             {x, net.constant("w" + at, DType::kF32, {kWidth, kWidth}, weights),
              net.constant("b" + at, DType::kF32, {kWidth}, biases)},
             {y});
    x = y;
  }
  net.output(x);
  return net.finish();
}

Samples vectors(size_t count, uint32_t seed) {
  Samples samples(count, std::vector<float>(kWidth));
  Random random(seed);
  for (auto& sample : samples)
    for (float& v : sample) v = random.real(-1.0f, 1.0f);
  return samples;
}

double decibels(const AlignedBytes& fp32, const std::vector<uint8_t>& int8, const Samples& judges) {
  RunningModel exact{AlignedBytes(fp32.view())},
      test{AlignedBytes(Span<const uint8_t>(int8.data(), int8.size()))};
  double signal = 0.0, noise = 0.0;
  for (const auto& sample : judges) {
    exact.set_input(sample);
    exact.session().run();
    const TensorInfo input = test.session().input().info;
    std::vector<int8_t> codes;
    for (const float v : sample)
      codes.push_back(static_cast<int8_t>(std::clamp(std::nearbyint(v / input.quantization.scales[0]) +
                                                         static_cast<float>(input.quantization.zero_point),
                                                     -128.0f, 127.0f)));
    test.set_input(codes);
    test.session().run();
    const Span<const float> x = exact.session().output().as<float>(), y = test.session().output().as<float>();
    for (size_t i = 0; i < x.size; ++i) {
      signal += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      noise += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2.0);
    }
  }
  return 10.0 * std::log10(signal / noise);
}

}  // namespace

TEST_CASE("one sample, or a few, of vectors: other samples lose nothing by the correction") {
  const AlignedBytes net = chain();
  const Result<Model> model = Model::open(net.view());
  REQUIRE(static_cast<bool>(model));
  const Samples judges = vectors(64, 99);
  for (const size_t count : {1, 2, 3, 5}) {
    CAPTURE(count);
    double gain = 0.0;
    constexpr int32_t kDraws = 4;
    for (uint32_t draw = 0; draw < kDraws; ++draw) {
      const Samples samples = vectors(count, 200 + draw);
      CalibratorOptions none, bias;
      none.recover = recovery::kNone;
      bias.recover = recovery::kBiasCorrection;
      gain += decibels(net, calibrate(*model, samples, bias), judges) -
              decibels(net, calibrate(*model, samples, none), judges);
    }
    MESSAGE(count, " ", gain / kDraws);
    CHECK(gain / kDraws > -0.15);
  }
}
