// Bias correction moves biases by what other samples will show, too, and not by what these samples alone show.
#include <doctest/doctest.h>

#include "tests/support/calibrate.h"
#include "tests/support/decibels.h"
#include "tests/support/random.h"
#include "tests/support/real_values.h"

namespace intaglio::test::bias_correction_test {
namespace {

constexpr int32_t kWidth = 48, kDepth = 6;

// A chain of fully connected layers: each sees one value a channel of a sample. With `cut` a ReLU follows each.
AlignedBytes chain(bool cut = false) {
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
    GraphNode& made = net.node(Op::kFullyConnected,
                               {x, net.constant("w" + at, DType::kF32, {kWidth, kWidth}, weights),
                                net.constant("b" + at, DType::kF32, {kWidth}, biases)},
                               {y});
    if (cut) made.options.as<Clamp>().min = 0.0f;
    x = y;
  }
  net.output(x);
  return net.finish();
}

Samples vectors(size_t count, uint32_t seed, float least, float most) {
  Samples samples;
  Random random(seed);
  for (size_t i = 0; i < count; ++i) samples.push_back(random.reals(kWidth, least, most));
  return samples;
}

double sqnr_db(const AlignedBytes& fp32, const std::vector<uint8_t>& int8, const Samples& judges) {
  RunningModel exact{AlignedBytes(fp32.view())},
      test{AlignedBytes(Span<const uint8_t>(int8.data(), int8.size()))};
  SignalAndNoise compared;
  for (const auto& sample : judges) compared.add(exact.run<float>(sample), run_reals(test, sample));
  return compared.sqnr_db();
}

// The gain of bias correction from `count` samples to the SQNR of others, all of the same distribution: the mean of four draws.
double gain_db(size_t count, float least, float most) {
  const AlignedBytes net = chain();
  const Result<Model> model = Model::open(net.view());
  REQUIRE(static_cast<bool>(model));
  const Samples judges = vectors(64, 99, least, most);
  CalibratorOptions none, bias;
  none.recover = recovery::kNone;
  bias.recover = recovery::kBiasCorrection;
  double gain = 0.0;
  constexpr int32_t kDraws = 4;
  for (uint32_t draw = 0; draw < kDraws; ++draw) {
    const Samples samples = vectors(count, 200 + draw, least, most);
    gain += sqnr_db(net, calibrate(*model, samples, bias), judges) -
            sqnr_db(net, calibrate(*model, samples, none), judges);
  }
  return gain / kDraws;
}

}  // namespace

TEST_CASE("one sample, or a few, of vectors without a mean: other samples lose next to nothing by the correction") {
  for (const size_t count : {1, 2, 3, 5}) {
    CAPTURE(count);
    CHECK(gain_db(count, -1.0f, 1.0f) > -0.2);
  }
}

TEST_CASE(
    "vectors with a mean: the rounding of weights makes a mean error, and other samples gain by the correction") {
  CHECK(gain_db(1, 0.8f, 1.2f) > 0.7);
  // Less than the weights' part alone would give: activations have room for others, and their rounding stays.
  CHECK(gain_db(5, 0.8f, 1.2f) > 1.35);
  CHECK(gain_db(16, 0.8f, 1.2f) > 1.7);
}

TEST_CASE("vectors that an activation cuts off are corrected for the rounding of weights alone") {
  Samples samples =
      vectors(32, 300, 0.8f, 1.2f);  // with a mean: the correction of weights alone helps, and is kept
  for (auto& sample : samples) sample[3] = 60.0f;  // the percentile clips it
  CalibratorOptions options;
  options.method = RangeMethod::kPercentile;
  options.percentile = 0.95;
  options.recover = recovery::kBiasCorrection;
  for (const bool cut : {false, true}) {
    CAPTURE(cut);
    const AlignedBytes net = chain(cut);
    const Result<Model> model = Model::open(net.view());
    REQUIRE(static_cast<bool>(model));
    // Without a source no sample can correct.
    CHECK((calibrate(*model, samples, options) == calibrate(*model, samples, options, Feed::kNoSource)) ==
          cut);
  }
}

}  // namespace intaglio::test::bias_correction_test
