// Bias absorption: which channels may be shifted, what that is worth where a channel never comes near zero,
// and where it is refused because the model would no longer compute the same.
#include <doctest/doctest.h>

#include "calibrator/recover/channels/channels.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/recovery_run.h"

namespace intaglio::test::bias_absorption_test {
namespace {

constexpr int32_t kSide = 6, kChannels = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Layers {
  float low = 0.0f, high = kInfinity;  // the clamp of a
  int32_t padding = 0;                 // of d, which reads a, or c
  bool adds = false;                   // c = a + conv(a) stands before d
  bool depthwise = false;              // d is
};

// image [6, 6, 4] -> a: conv to 8 channels -> (c: a + conv(a)) -> d: conv + ReLU -> mean -> logits. `offsets`
// are added to a's biases, and d's biases take them back.
AlignedBytes net(const std::vector<float>& offsets, const Layers& shape = {}) {
  ModelBuilder net;
  Random random(5);
  const auto values = [&random](size_t count, float size) {
    std::vector<float> list(count);
    for (float& v : list) v = random.real(-size, size);
    return list;
  };
  const int32_t out_side = shape.depthwise || shape.padding > 0 ? kSide - 2 + 2 * shape.padding : kSide;
  const int32_t taps = shape.depthwise || shape.padding > 0 ? 3 : 1;
  const std::vector<int32_t> map{1, kSide, kSide, kChannels}, out{1, out_side, out_side, kChannels};
  const int32_t image = net.tensor("image", DType::kF32, {1, kSide, kSide, 4});
  const int32_t a = net.tensor("a", DType::kF32, map), d = net.tensor("d", DType::kF32, out);
  const int32_t mean = net.tensor("mean", DType::kF32, {1, kChannels});
  const int32_t logits = net.tensor("logits", DType::kF32, {1, 5});
  const auto wa = values(kChannels * 4, 0.5f), wb = values(kChannels * kChannels, 0.05f);
  auto ba = values(kChannels, 0.2f), bd = values(kChannels, 0.2f);
  const auto each = static_cast<size_t>(taps * taps * (shape.depthwise ? 1 : kChannels));
  const auto wd = values(kChannels * each, 0.4f);
  for (size_t c = 0; c < kChannels; ++c) ba[c] += offsets[c];
  for (size_t o = 0; o < kChannels; ++o)
    for (size_t i = 0; i < each; ++i)
      bd[o] -=
          shape.depthwise ? wd[i * kChannels + o] * offsets[o] : wd[o * each + i] * offsets[i % kChannels];
  net.input(image);
  GraphNode& first = net.node(Op::kConv2d,
                              {image, net.constant("wa", DType::kF32, {kChannels, 1, 1, 4}, wa),
                               net.constant("ba", DType::kF32, {kChannels}, ba)},
                              {a});
  first.options.as<Clamp>().min = shape.low;
  first.options.as<Clamp>().max = shape.high;
  int32_t read = a;
  if (shape.adds) {
    const int32_t b = net.tensor("b", DType::kF32, map), c = net.tensor("c", DType::kF32, map);
    net.node(Op::kConv2d,
             {a, net.constant("wb", DType::kF32, {kChannels, 1, 1, kChannels}, wb),
              net.constant("bb", DType::kF32, {kChannels}, values(kChannels, 0.2f))},
             {b});
    net.node(Op::kAdd, {a, b}, {c});
    read = c;
  }
  const std::vector<int32_t> dims = shape.depthwise ? std::vector<int32_t>{taps, taps, kChannels}
                                                    : std::vector<int32_t>{kChannels, taps, taps, kChannels};
  GraphNode& second = net.node(
      shape.depthwise ? Op::kDepthwiseConv2d : Op::kConv2d,
      {read, net.constant("wd", DType::kF32, dims, wd), net.constant("bd", DType::kF32, {kChannels}, bd)},
      {d});
  Window2d& window = second.options.as<Window2d>();
  window.kernel_h = window.kernel_w = taps;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = shape.padding;
  second.options.as<Clamp>().min = 0.0f;
  net.node(Op::kMean, {d}, {mean}).options.as<ReduceOptions>().axes = net.keep({1, 2});
  net.node(Op::kFullyConnected,
           {mean, net.constant("wl", DType::kF32, {5, kChannels}, values(5 * kChannels, 0.5f)),
            net.constant("bl", DType::kF32, {5}, values(5, 0.2f))},
           {logits});
  net.output(logits);
  return net.finish();
}

constexpr RecoveryRun kAbsorb{recovery::kBiasAbsorption};

void check_stays(const AlignedBytes& bytes, RecoveryVerdict verdict) {
  const RecoveryOutcome outcome = calibrate(bytes, kAbsorb);
  CHECK(outcome.verdict(recovery::kBiasAbsorption) == verdict);
  CHECK(!outcome.says("channels shifted"));
  CHECK(outcome.after == outcome.before);
  CHECK(outcome.state_after == outcome.state_before);
}

bool is_free(const AlignedBytes& bytes, const std::string& name) {
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  HostArena memory;
  const ChannelShifts shifts = find_shifts(*model, memory.arena());
  for (int32_t t = 0; t < model->tensor_count(); ++t)
    if (name == model->tensor(t).name) return shifts.is_free(t);
  FAIL("no tensor " << name);
  return false;
}

const std::vector<float> kHigh{0, 0, 40, 0, 0, 0, 25, 0},
    kEven(kChannels, 0.0f), kBothSigns{-12, 7, 15, 0, -9, 11, 0, 14};

}  // namespace

TEST_CASE("channels that stay far above zero give their codes to the others, everywhere the same") {
  const AlignedBytes bytes = net(kHigh);
  const RecoveryOutcome outcome = calibrate(bytes, kAbsorb);
  CHECK(outcome.verdict(recovery::kBiasAbsorption) == RecoveryVerdict::kKept);
  CHECK(outcome.after < 0.05 * outcome.before);
  CHECK(outcome.says("channels shifted"));
  CHECK(outcome.state_after == outcome.state_before);
  // The report shows the values that the ranges were chosen from.
  CHECK(calibrate(bytes, {recovery::kNone}).highest.at("a") > 39.0f);
  CHECK(outcome.highest.at("a") < 5.0f);
  // Nearly as good as a model in which nothing is to be absorbed.
  CHECK(outcome.after < 3.0 * calibrate(net(kEven), kAbsorb).after);
  for (const int32_t threads : {1, 2, 8})
    for (const IsaMask isa : {IsaMask{isa::kAll}, IsaMask{isa::kScalar}, IsaMask{isa::kAvx2}})
      CHECK(calibrate(bytes, {recovery::kBiasAbsorption, threads != 2, isa, threads}).bytes == outcome.bytes);
  // Errors are those against the model as it was given, whether its outputs are kept or computed once more.
  RecoveryRun poor = kAbsorb;
  poor.keeps_outputs = false;
  const RecoveryOutcome computed = calibrate(bytes, poor);
  CHECK(computed.bytes == outcome.bytes);
  CHECK(computed.after == outcome.after);
}

TEST_CASE("layers without activation shift by either sign, also through additions and depthwise layers") {
  for (const bool depthwise : {false, true}) {
    CAPTURE(depthwise);
    Layers shape;
    shape.low = -kInfinity;
    shape.adds = true;
    shape.depthwise = depthwise;
    const AlignedBytes bytes = net(kBothSigns, shape);
    for (const char* name : {"a", "b", "c"}) CHECK(is_free(bytes, name));
    for (const char* name : {"image", "logits", "wa", "ba"}) CHECK(!is_free(bytes, name));
    const RecoveryOutcome outcome = calibrate(bytes, kAbsorb);
    CHECK(outcome.verdict(recovery::kBiasAbsorption) == RecoveryVerdict::kKept);
    CHECK(outcome.after < 0.2 * outcome.before);
  }
}

TEST_CASE("biases are corrected by samples after an absorption as they are without one") {
  const auto attempts = [](RecoveryMask recover) {
    const RecoveryOutcome outcome = calibrate(net(kHigh), {recover});
    return std::count_if(
        outcome.recoveries.begin(), outcome.recoveries.end(),
        [](const RecoveryRecord& record) { return record.recovery == recovery::kBiasCorrection; });
  };
  CHECK(attempts(recovery::kBiasCorrection) == 2);
  CHECK(attempts(recovery::kBiasAbsorption | recovery::kBiasCorrection) == 2);
  CHECK(attempts(recovery::kEqualization | recovery::kBiasCorrection) == 2);
}

TEST_CASE("together with equalization, which goes first") {
  RecoveryRun both;
  both.recover = recovery::kEqualization | recovery::kBiasAbsorption | recovery::kBiasCorrection;
  const RecoveryOutcome outcome = calibrate(net(kHigh), both);
  CHECK(outcome.after < 0.1 * outcome.before);
  CHECK(outcome.state_after == outcome.state_before);
  both.threads = 3;
  both.reversed = true;
  CHECK(calibrate(net(kHigh), both).bytes == outcome.bytes);
}

TEST_CASE("a layer that pads does not take a shift in: its border would have to be another value") {
  Layers padded;
  padded.padding = 1;
  CHECK(!is_free(net(kHigh, padded), "a"));
  CHECK(is_free(net(kHigh), "a"));
  check_stays(net(kHigh, padded), RecoveryVerdict::kNothingToDo);
  padded.depthwise = true;
  check_stays(net(kHigh, padded), RecoveryVerdict::kNothingToDo);
}

TEST_CASE("behind ReLU6 a channel stays that has reached the cap, and is absorbed where it has not") {
  Layers relu6;
  relu6.high = 6.0f;
  check_stays(net({0, 0, 5.9f, 0, 0, 0, 5.5f, 0}, relu6), RecoveryVerdict::kNothingToDo);
  const RecoveryOutcome below = calibrate(net({0, 0, 3.5f, 0, 0, 0, 0, 0}, relu6), kAbsorb);
  CHECK(below.verdict(recovery::kBiasAbsorption) == RecoveryVerdict::kKept);
}

TEST_CASE("undone where it gains nothing, not tried with one sample") {
  Layers linear;
  linear.low = -kInfinity;
  check_stays(net(kEven, linear), RecoveryVerdict::kNetworkWorse);
  RecoveryRun one = kAbsorb;
  one.samples = 1;
  CHECK(calibrate(net(kHigh), one).verdict(recovery::kBiasAbsorption) == RecoveryVerdict::kTooFewSamples);
}

}  // namespace intaglio::test::bias_absorption_test
