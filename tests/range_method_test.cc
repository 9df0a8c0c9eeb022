// The method of choosing ranges that the outputs like best, judged on samples that the ranges do not come
// from.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "calibrator/observe/digest.h"
#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

namespace intaglio::test::range_method_test {
namespace {

constexpr int32_t kSide = 16, kDepth = 4, kOutputs = 6;
// image [16, 16, 4] -> conv to 6 channels, which do not read channel 3.
AlignedBytes one_layer() {
  ModelBuilder net;
  Random random(3);
  std::vector<float> weights(kOutputs * kDepth), biases(kOutputs);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % kDepth == 3 ? 0.0f : random.real(-0.5f, 0.5f);
  for (float& bias : biases) bias = random.real(-0.2f, 0.2f);
  const int32_t image = net.tensor("image", DType::kF32, {1, kSide, kSide, kDepth});
  const int32_t map = net.tensor("map", DType::kF32, {1, kSide, kSide, kOutputs});
  net.input(image);
  net.node(Op::kConv2d,
           {image, net.constant("w", DType::kF32, {kOutputs, 1, 1, kDepth}, weights),
            net.constant("b", DType::kF32, {kOutputs}, biases)},
           {map});
  net.output(map);
  return net.finish();
}

// Values up to 1; one of channel 3, which nothing reads, is `outlier`.
Samples samples_with(float outlier, size_t count) {
  Samples samples(count, std::vector<float>(kSide * kSide * kDepth));
  Random random(9);
  for (auto& sample : samples) {
    for (float& v : sample) v = random.real(-1.0f, 1.0f);
    sample[3] = outlier;
  }
  return samples;
}

struct Outcome {
  std::vector<RecoveryRecord> records;
  std::string method;
  double error = 0.0;  // noise over signal
  std::vector<uint8_t> bytes;
};

Outcome calibrate(const Samples& samples, CalibratorOptions options = {}, bool again = true,
                  const AlignedBytes& net = one_layer()) {
  const Result<Model> model = Model::open(net.view());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  options.percentile = 0.99;
  AlignedBytes memory(Calibrator::measure(*model, options)->total());
  Calibrator calibrator = *Calibrator::create(*model, memory.span(), options);
  for (const auto& sample : samples) {
    const Span<const uint8_t> input[] = {
        {reinterpret_cast<const uint8_t*>(sample.data()), sample.size() * sizeof(float)}};
    REQUIRE(calibrator.add(input).ok());
  }
  const SampleSource source = source_of(samples);
  const Error error = calibrator.finish({}, again ? &source : nullptr);
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  const CalibrationReport& report = calibrator.report();
  Outcome outcome;
  for (const RecoveryRecord& record : report.recoveries)
    if (record.recovery == recovery::kRangeMethod) outcome.records.push_back(record);
  outcome.bytes.assign(report.bytes.begin(), report.bytes.end());
  outcome.method = Model::open(report.bytes)->calibration().method;
  outcome.error = report.noise / report.signal;
  return outcome;
}

}  // namespace

TEST_CASE(
    "a value that nothing reads takes no codes from the others, whatever the order, machine and memory") {
  Samples samples = samples_with(40.0f, 12);
  CalibratorOptions fixed;
  fixed.recover = recovery::kNone;
  const Outcome before = calibrate(samples, fixed), after = calibrate(samples);
  CHECK(before.method == "auto");
  CHECK(before.records.empty());
  CHECK(after.method != "auto");
  REQUIRE(after.records.size() == 1);
  CHECK(after.records[0].verdict == RecoveryVerdict::kKept);
  CHECK(after.records[0].after < 0.1 * after.records[0].before);
  CHECK(after.error < 0.1 * before.error);

  std::rotate(samples.begin(), samples.begin() + 5, samples.end());
  CalibratorOptions options;
  options.isa = isa::kScalar;
  options.replay_bytes = 1 << 16;
  CHECK(calibrate(samples, options).bytes == after.bytes);
  options.isa = isa::kAvx2;
  for (const int32_t threads : {2, 8}) {
    std::rotate(samples.begin(), samples.begin() + 1, samples.end());
    options.executor = thread_executor(threads);
    CHECK(calibrate(samples, options).bytes == after.bytes);
  }
}

// With the model of one half auto is far worse than others, with that of the other half it is not.
TEST_CASE("a value far off in one half of the samples alone, whichever it is, is found") {
  for (const int32_t half : {0, 1}) {
    CAPTURE(half);
    Samples samples;
    size_t of_half[2] = {};
    for (const auto& [outlier, wanted] : {std::pair{40.0f, half}, std::pair{0.5f, 1 - half}})
      for (const auto& sample : samples_with(outlier, 60)) {
        Sha256 sha;
        sha.update(sample.data(), sample.size() * sizeof(float));
        if (half_of(sha.finish()) != wanted || of_half[wanted] == 8) continue;
        ++of_half[wanted];
        samples.push_back(sample);
      }
    REQUIRE(samples.size() == 16);
    CHECK(calibrate(samples).method != "auto");
  }
}

// Samples reach differently far, as activations do: that is what the room of auto is for.
TEST_CASE("auto stays where nothing is far off") {
  Samples samples = samples_with(1.0f, 12);
  Random random(12);
  for (auto& sample : samples) {
    const float reach = std::exp2(random.real(-1.0f, 1.0f));
    for (float& v : sample) v *= reach;
  }
  const Outcome outcome = calibrate(samples);
  CHECK(outcome.method == "auto");
  REQUIRE(outcome.records.size() == 1);
  CHECK(outcome.records[0].verdict == RecoveryVerdict::kNetworkWorse);
}

TEST_CASE("a method that the caller asks for stays, and so does auto without samples to judge by") {
  CalibratorOptions options;
  options.method = RangeMethod::kMinMax;
  const Samples samples = samples_with(40.0f, 12);
  const Outcome asked = calibrate(samples, options);
  CHECK(asked.method == "minmax");
  CHECK(asked.records.empty());
  const Outcome few = calibrate({samples[0], samples[1], samples[2]});
  CHECK(few.method == "auto");
  REQUIRE(few.records.size() == 1);
  CHECK(few.records[0].verdict == RecoveryVerdict::kTooFewSamples);
  const Outcome gone = calibrate(samples, {}, false);
  CHECK(gone.method == "auto");
  REQUIRE(gone.records.size() == 1);
  CHECK(gone.records[0].verdict == RecoveryVerdict::kNoSource);
}

}  // namespace intaglio::test::range_method_test
