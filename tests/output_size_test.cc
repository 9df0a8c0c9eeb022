// Outputs of any size are judged alike: a network whose last weights are multiplied by a power of two gives the
// same decisions, the same errors and the same codes.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/calibrate.h"
#include "tests/support/random.h"

namespace intaglio::test::output_size_test {
namespace {

// Convolution + ReLU, then a last layer times 2^power: over a map, or over the map's mean, which leaves int8 in
// FP32.
AlignedBytes network(int power, bool map) {
  Random random(4);
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 6, 6, 3}),
                hidden = b.tensor("hidden", DType::kF32, {1, 6, 6, 8});
  b.input(x);
  GraphNode& conv =
      b.node(Op::kConv2d,
             {x, b.constant<float>("w", DType::kF32, {8, 3, 3, 3}, random.reals(8 * 27, -0.02f, 0.02f)),
              b.constant<float>("b", DType::kF32, {8}, random.reals(8, -0.02f, 0.02f))},
             {hidden});
  conv.options.as<Window2d>().kernel_h = conv.options.as<Window2d>().kernel_w = 3;
  conv.options.as<Window2d>().pad_top = conv.options.as<Window2d>().pad_left = 1;
  conv.options.as<Window2d>().pad_bottom = conv.options.as<Window2d>().pad_right = 1;
  conv.options.as<Clamp>().min = 0.0f;
  const auto scaled = [&](size_t count, float most) {
    std::vector<float> values = random.reals(count, -most, most);
    for (float& value : values) value = std::ldexp(value, power);
    return values;
  };
  const std::vector<float> weights = scaled(4 * 8, 64.0f), bias = scaled(4, 1.0f);
  if (map) {
    const int32_t y = b.tensor("y", DType::kF32, {1, 6, 6, 4});
    b.node(Op::kConv2d,
           {hidden, b.constant<float>("w2", DType::kF32, {4, 1, 1, 8}, weights),
            b.constant<float>("b2", DType::kF32, {4}, bias)},
           {y});
    b.output(y);
  } else {
    const int32_t mean = b.tensor("mean", DType::kF32, {1, 8}), y = b.tensor("y", DType::kF32, {1, 4});
    b.node(Op::kMean, {hidden}, {mean}).options.as<ReduceOptions>().axes = b.keep({1, 2});
    b.node(Op::kFullyConnected,
           {mean, b.constant<float>("w2", DType::kF32, {4, 8}, weights),
            b.constant<float>("b2", DType::kF32, {4}, bias)},
           {y});
    b.output(y);
  }
  return b.finish();
}

struct Found {
  std::vector<RecoveryRecord> records;
  double sqnr = 0.0, largest = 0.0;  // of the FP32 outputs
  std::vector<int8_t> codes;         // of all weights
};

Found calibrated(const AlignedBytes& file) {
  Random random(6);
  Samples samples;
  for (int i = 0; i < 16; ++i) {
    samples.push_back(random.reals(6 * 6 * 3, -1.0f, 1.0f));
    samples.back()[static_cast<size_t>(i)] *= 6.0f;  // few values far from the others
  }
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  CalibratorOptions options;
  options.recover = recovery::kAll | recovery::kEqualization;
  options.replay_bytes = *Calibrator::replay_bytes(*model, 16, options);
  AlignedBytes memory(Calibrator::measure(*model, options)->total());
  Result<Calibrator> calibrator = Calibrator::create(*model, memory.span(), options);
  REQUIRE(static_cast<bool>(calibrator));
  Found found;
  for (const auto& sample : samples) {
    const Span<const uint8_t> input = bytes_of(sample);
    REQUIRE(calibrator->add({&input, 1}).ok());
    for (const float value : calibrator->output().as<float>())
      found.largest = std::max(found.largest, std::abs(static_cast<double>(value)));
  }
  const SampleSource source = source_of(samples);
  const Error error = calibrator->finish({}, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error, &*model));
  const CalibrationReport& report = calibrator->report();
  found.records.assign(report.recoveries.begin(), report.recoveries.end());
  found.sqnr = 10 * std::log10(report.signal / report.noise);
  const Result<Model> int8 = Model::open(report.bytes);
  REQUIRE(static_cast<bool>(int8));
  for (int32_t t = 0; t < int8->tensor_count(); ++t) {
    const TensorInfo info = int8->tensor(t);
    if (info.dtype == DType::kS8)
      for (size_t i = 0; i < info.constant.size; ++i)
        found.codes.push_back(static_cast<int8_t>(info.constant.data[i]));
  }
  return found;
}

}  // namespace

TEST_CASE("outputs of 1e-11, of 1 and of 1e10: the same decisions, errors and codes") {
  for (const bool map : {false, true}) {
    CAPTURE(map);
    const Found plain = calibrated(network(0, map));
    CHECK(plain.sqnr > 15);
    CHECK(plain.sqnr < 60);
    bool kept = false, undone = false;
    for (const int power : {map ? -33 : -37, -20, 20, 34}) {
      CAPTURE(power);
      const Found other = calibrated(network(power, map));
      CAPTURE(other.largest);
      CHECK(other.largest ==
            std::ldexp(plain.largest, power));  // 1e-9 (codes have no smaller scale), 2e-11; 1e11
      CHECK(other.sqnr == plain.sqnr);
      CHECK(other.codes == plain.codes);
      REQUIRE(other.records.size() == plain.records.size());
      for (size_t i = 0; i < plain.records.size(); ++i) {
        CAPTURE(i);
        CHECK(other.records[i].before == plain.records[i].before);
        CHECK(other.records[i].after == plain.records[i].after);
        CHECK(other.records[i].verdict == plain.records[i].verdict);
        kept = kept || plain.records[i].verdict == RecoveryVerdict::kKept;
        undone = undone || plain.records[i].verdict == RecoveryVerdict::kNetworkWorse;
      }
    }
    CHECK(kept);
    CHECK(undone);
  }
}

}  // namespace intaglio::test::output_size_test
