// A tensor that a function of one variable alone reads: its range is what the function tells apart, in a whole calibration.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::function_behind_test {
namespace {

constexpr int32_t kSide = 12, kDepth = 8;

// image -> 1 x 1 convolution, whose channels reach -100 -> hard-swish -> 1 x 1 convolution. `taps`: the convolution's
// output is an output of the model as well.
AlignedBytes network(Op function, bool taps = false) {
  ModelBuilder net;
  Random random(5);
  std::vector<float> first(kDepth * kDepth), biases(kDepth), last(kDepth * kDepth);
  for (float& w : first) w = random.real(-2.0f, 2.0f);
  for (float& b : biases) b = random.real(-30.0f, 4.0f);
  for (float& w : last) w = random.real(-0.5f, 0.5f);
  const std::vector<int32_t> shape{1, kSide, kSide, kDepth};
  const int32_t image = net.tensor("image", DType::kF32, shape),
                sums = net.tensor("sums", DType::kF32, shape),
                swished = net.tensor("swished", DType::kF32, shape),
                out = net.tensor("out", DType::kF32, shape);
  net.input(image);
  net.node(Op::kConv2d,
           {image, net.constant("w", DType::kF32, {kDepth, 1, 1, kDepth}, first),
            net.constant("b", DType::kF32, {kDepth}, biases)},
           {sums});
  net.node(function, {sums}, {swished});
  net.node(Op::kConv2d, {swished, net.constant("v", DType::kF32, {kDepth, 1, 1, kDepth}, last)}, {out});
  net.output(out);
  if (taps) net.output(sums);
  return net.finish();
}

constexpr int32_t kScoresSide = 64;

// image -> 1 x 1 convolution of one channel, which gives it as it is -> Sigmoid. `reads`: another convolution reads that.
AlignedBytes scores(bool reads) {
  ModelBuilder net;
  const std::vector<int32_t> shape{1, kScoresSide, kScoresSide, 1};
  const int32_t image = net.tensor("image", DType::kF32, shape),
                sums = net.tensor("sums", DType::kF32, shape),
                score = net.tensor("score", DType::kF32, shape), out = net.tensor("out", DType::kF32, shape);
  net.input(image);
  net.node(Op::kConv2d, {image, net.constant("w", DType::kF32, {1, 1, 1, 1}, std::vector<float>{1.0f})},
           {sums});
  net.node(Op::kSigmoid, {sums}, {score});
  if (reads)
    net.node(Op::kConv2d, {score, net.constant("v", DType::kF32, {1, 1, 1, 1}, std::vector<float>{2.0f})},
             {out});
  net.output(reads ? out : score);
  return net.finish();
}

struct Outcome {
  float scale = 0.0f;    // of the convolution's output
  float highest = 0.0f;  // of its codes
  double decibels = 0.0;
};

// `rare`: takes the place of one value of one sample; 0: none.
Outcome calibrate(const AlignedBytes& bytes, RangeMethod method = RangeMethod::kAuto, float rare = 0.0f) {
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  const auto elements = static_cast<size_t>(model->tensor(model->inputs()[0]).shape.elements());
  Samples samples(8, std::vector<float>(elements));
  Random random(11);
  for (auto& sample : samples)
    for (float& v : sample) v = random.real(-1.0f, 1.0f);
  if (rare != 0.0f) samples[2][elements / 2] = rare;
  CalibratorOptions options;
  options.method = method;
  AlignedBytes memory(Calibrator::measure(*model, options)->total());
  Calibrator calibrator = *Calibrator::create(*model, memory.span(), options);
  for (const auto& sample : samples) {
    const Span<const uint8_t> input = bytes_of(sample);
    REQUIRE(calibrator.add({&input, 1}).ok());
  }
  const SampleSource source = source_of(samples);
  const Error error = calibrator.finish({}, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  const CalibrationReport& report = calibrator.report();
  const Result<Model> int8 = Model::open(report.bytes);
  Outcome outcome;
  outcome.decibels = -10.0 * std::log10(report.noise / report.signal);
  for (int32_t t = 0; t < int8->tensor_count(); ++t)
    if (strcmp(int8->tensor(t).name, "sums") == 0) {
      const Quantization& own = int8->tensor(t).quantization;
      outcome.scale = own.scales[0];
      outcome.highest = own.scales[0] * static_cast<float>(127 - own.zero_point);
    }
  return outcome;
}

}  // namespace

TEST_CASE("hard-swish tells nothing apart below -3: the sums before it have no codes there") {
  const Outcome behind = calibrate(network(Op::kHardSwish)),
                asked = calibrate(network(Op::kHardSwish), RangeMethod::kMinMax);
  CHECK(behind.scale < 0.5f * asked.scale);
  CHECK(behind.decibels > asked.decibels + 3.0);
}

TEST_CASE("what something else reads, too, keeps its own range") {
  const Outcome tapped = calibrate(network(Op::kHardSwish, true)), alone = calibrate(network(Op::kHardSwish));
  CHECK(tapped.scale > 1.5f * alone.scale);
  // Every value tells of a magnitude.
  const Outcome magnitude = calibrate(network(Op::kAbs));
  CHECK(magnitude.scale > 1.5f * alone.scale);
}

TEST_CASE(
    "a map of scores keeps a large one, however rare it is; where something else is made of them it may be cut off") {
  CHECK(calibrate(scores(false), RangeMethod::kAuto, 6.0f).highest > 5.5f);
  CHECK(calibrate(scores(true), RangeMethod::kAuto, 6.0f).highest < 4.0f);
}

}  // namespace intaglio::test::function_behind_test
