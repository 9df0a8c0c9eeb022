// Bias correction moves biases by what other samples will show, too, and not by what these samples alone show.
#include <doctest/doctest.h>

#include "tests/support/calibrate.h"
#include "tests/support/decibels.h"
#include "tests/support/float_samples.h"
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

// Convolutions of 1 x 1 with a ReLU each. With `shuffled` channels go another way between them, as in ShuffleNet.
AlignedBytes deep_map(bool shuffled) {
  ModelBuilder net;
  Random random(23);
  const std::vector<int32_t> map = {1, 4, 4, kWidth}, parts = {1, 4, 4, 2, kWidth / 2},
                             swapped = {1, 4, 4, kWidth / 2, 2};
  static constexpr int32_t kSwap[] = {0, 1, 2, 4, 3};
  int32_t x = net.tensor("x", DType::kF32, map);
  net.input(x);
  for (int32_t layer = 0; layer < kDepth; ++layer) {
    const std::string at = std::to_string(layer);
    const auto add = [&](Op op, std::vector<int32_t> inputs, const std::vector<int32_t>& shape,
                         const char* name) -> GraphNode& {
      const int32_t y = net.tensor(name + at, DType::kF32, shape);
      inputs.insert(inputs.begin(), x);
      x = y;
      return net.node(op, inputs, {y});
    };
    const int32_t w = net.constant("w" + at, DType::kF32, {kWidth, 1, 1, kWidth},
                                   random.reals(kWidth * kWidth, -0.25f, 0.25f)),
                  b = net.constant("b" + at, DType::kF32, {kWidth}, random.reals(kWidth, 0.0f, 0.4f));
    add(Op::kConv2d, {w, b}, map, "y").options.as<Clamp>().min = 0.0f;
    if (!shuffled || layer + 1 == kDepth) continue;
    add(Op::kReshape, {}, parts, "p");
    add(Op::kTranspose, {}, swapped, "s").options.as<TransposeOptions>().permutation = {kSwap, 5};
    add(Op::kReshape, {}, map, "m");
  }
  net.output(x);
  return net.finish();
}

}  // namespace

TEST_CASE("layers that are corrected at once: none corrects again what those before it have corrected") {
  constexpr size_t kPlaces = 16;
  Random random(5);
  Samples samples(16);
  for (auto& sample : samples) {
    sample = random.reals(kPlaces * kWidth, -1.0f, 1.0f);
    for (size_t place = 0; place < kPlaces; ++place)
      sample[place * kWidth + 3] = 6.0f;  // clipped: an error that all layers show
  }
  CalibratorOptions options;
  options.method = RangeMethod::kPercentile;
  options.percentile = 0.95;
  options.recover = recovery::kBiasCorrection;
  for (const bool shuffled : {false, true}) {
    CAPTURE(shuffled);
    const AlignedBytes net = deep_map(shuffled);
    const Model model = *Model::open(net.view());
    AlignedBytes memory(Calibrator::measure(model, options)->total());
    Calibrator calibrator = *Calibrator::create(model, memory.span(), options);
    const SampleSource source = source_of(samples);
    REQUIRE(calibrator.add_all(source).ok());
    REQUIRE(calibrator.finish({}, &source).ok());
    const Span<const RecoveryRecord> records = calibrator.report().recoveries;
    REQUIRE(records.size == 2);
    CHECK(records[1].verdict == RecoveryVerdict::kKept);
    CHECK(records[1].after < 0.25 * records[1].before);
  }
}

TEST_CASE(
    "one sample, or a few, of vectors without a mean: other samples lose next to nothing by the correction") {
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
