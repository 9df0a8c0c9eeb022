// Equalization: which channels may be scaled together, and what that is worth where one of them is far larger
// than the others.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "calibrator/recover/channel_groups.h"
#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

constexpr int32_t kSide = 6, kChannels = 8;

// image [6, 6, 4] -> a: conv to 8 channels -> b: conv -> c = a + b -> d: conv + ReLU6 -> mean -> logits.
// Channel 3 of a, b and c is `outlier` times as large, and d's weights take that back.
AlignedBytes residual_net(float outlier) {
  ModelBuilder net;
  Random random(5);
  const auto values = [&random](size_t count, float size) {
    std::vector<float> list(count);
    for (float& v : list) v = random.real(-size, size);
    return list;
  };
  const std::vector<int32_t> map{1, kSide, kSide, kChannels};
  const int32_t image = net.tensor("image", DType::kF32, {1, kSide, kSide, 4});
  const int32_t a = net.tensor("a", DType::kF32, map), b = net.tensor("b", DType::kF32, map);
  const int32_t c = net.tensor("c", DType::kF32, map), d = net.tensor("d", DType::kF32, map);
  const int32_t mean = net.tensor("mean", DType::kF32, {1, kChannels});
  const int32_t logits = net.tensor("logits", DType::kF32, {1, 5});
  auto wa = values(kChannels * 4, 0.5f), wb = values(kChannels * kChannels, 0.3f);
  auto wd = values(kChannels * kChannels, 0.4f);
  auto ba = values(kChannels, 0.2f), bb = values(kChannels, 0.2f);
  for (size_t i = 0; i < 4; ++i) wa[3 * 4 + i] *= outlier;
  for (size_t i = 0; i < kChannels; ++i) {
    wb[i * kChannels + 3] /= outlier;
    wb[3 * kChannels + i] *= outlier;
    wd[i * kChannels + 3] /= outlier;
  }
  ba[3] *= outlier;
  bb[3] *= outlier;
  const auto conv = [&](const char* name, int32_t in, int32_t out, int32_t depth, const std::vector<float>& w,
                        const std::vector<float>& bias) -> GraphNode& {
    const int32_t weights = net.constant(std::string("w") + name, DType::kF32, {kChannels, 1, 1, depth}, w);
    return net.node(Op::kConv2d,
                    {in, weights, net.constant(std::string("b") + name, DType::kF32, {kChannels}, bias)},
                    {out});
  };
  net.input(image);
  conv("a", image, a, 4, wa, ba);
  conv("b", a, b, kChannels, wb, bb);
  net.node(Op::kAdd, {a, b}, {c});
  GraphNode& capped = conv("d", c, d, kChannels, wd, values(kChannels, 0.2f));
  capped.options.clamp_min = 0.0f;
  capped.options.clamp_max = 6.0f;
  net.node(Op::kMean, {d}, {mean}).options.axes = net.keep({1, 2});
  net.node(Op::kFullyConnected,
           {mean, net.constant("wl", DType::kF32, {5, kChannels}, values(5 * kChannels, 0.5f)),
            net.constant("bl", DType::kF32, {5}, values(5, 0.2f))},
           {logits});
  net.output(logits);
  return net.finish();
}

struct Outcome {
  double before = 0.0, after = 0.0;  // noise over signal
  bool kept = false, says_scaled = false;
  std::vector<uint8_t> bytes, state_before, state_after;
};

Outcome calibrate(const AlignedBytes& bytes, bool reversed = false, IsaMask isa = isa::kAll,
                  int32_t threads = 1) {
  Samples samples(12, std::vector<float>(kSide * kSide * 4));
  Random random(9);
  for (auto& sample : samples)
    for (float& v : sample) v = random.real(-1.0f, 1.0f);
  if (reversed) std::reverse(samples.begin(), samples.end());
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  CalibratorOptions options;
  options.method = RangeMethod::kMinMax;
  options.recover = recovery::kEqualization;
  options.isa = isa;
  options.executor = thread_executor(threads);
  options.replay_bytes = *Calibrator::replay_bytes(*model, 12, options);
  AlignedBytes memory(Calibrator::measure(*model, options)->total());
  Calibrator calibrator = *Calibrator::create(*model, memory.span(), options);
  for (const auto& sample : samples) {
    const Span<const uint8_t> input[] = {
        {reinterpret_cast<const uint8_t*>(sample.data()), sample.size() * sizeof(float)}};
    REQUIRE(calibrator.add(input).ok());
  }
  const SampleSource source = source_of(samples);
  Outcome outcome;
  const auto save = [&calibrator](std::vector<uint8_t>& state) {
    state.resize(calibrator.state_bytes());
    REQUIRE(calibrator.save({state.data(), state.size()}).ok());
  };
  save(outcome.state_before);
  const Error error = calibrator.finish({}, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  save(outcome.state_after);
  const CalibrationReport& report = calibrator.report();
  outcome.before = report.noise_without_recovery / report.signal;
  outcome.after = report.noise / report.signal;
  for (const RecoveryRecord& record : report.recoveries)
    outcome.kept = outcome.kept || record.verdict == RecoveryVerdict::kKept;
  outcome.bytes.assign(report.bytes.begin(), report.bytes.end());
  outcome.says_scaled =
      std::strstr(Model::open(report.bytes)->calibration().options, "channels scaled") != nullptr;
  return outcome;
}

}  // namespace

TEST_CASE("a residual stage is one set; inputs, outputs and what is capped stay as they are") {
  const AlignedBytes bytes = residual_net(1.0f);
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  HostArena memory;
  const ChannelGroups groups = group_channels(*model, memory.arena());
  const auto tensor = [&](const char* name) {
    for (int32_t t = 0; t < model->tensor_count(); ++t)
      if (std::string(model->tensor(t).name) == name) return t;
    FAIL("no tensor " << name);
    return -1;
  };
  const auto root = [&](const char* name) { return groups.root[static_cast<size_t>(tensor(name))]; };
  CHECK(root("a") >= 0);
  CHECK(root("a") == root("b"));
  CHECK(root("a") == root("c"));
  for (const char* fixed : {"image", "d", "mean", "logits", "wa", "bb"}) {
    CAPTURE(fixed);
    CHECK(root(fixed) == -1);
  }
  CHECK(groups.channels == kChannels);
}

TEST_CASE("an outlier channel no longer takes the others' codes, and the state stays the unscaled model's") {
  const AlignedBytes net = residual_net(64.0f);
  const Outcome outcome = calibrate(net);
  CHECK(outcome.kept);
  CHECK(outcome.after < 0.1 * outcome.before);
  CHECK(outcome.state_after == outcome.state_before);
  CHECK(outcome.says_scaled);
  CHECK(calibrate(net, true).bytes == outcome.bytes);
  CHECK(calibrate(net, false, isa::kScalar).bytes == outcome.bytes);
  for (const int32_t threads : {2, 8})
    CHECK(calibrate(net, true, isa::kAvx2, threads).bytes == outcome.bytes);
  // It cannot help a model whose channels are alike, and then leaves it as it was.
  const Outcome even = calibrate(residual_net(1.0f));
  CHECK(!even.kept);
  CHECK(!even.says_scaled);
  CHECK(even.after == even.before);
}
