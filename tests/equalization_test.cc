// Equalization: which channels may be scaled together, and what that is worth where one of them is far larger
// than the others.
#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/recover/channels/channels.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/recovery_run.h"

namespace intaglio::test::equalization_test {
namespace {

constexpr int32_t kSide = 6, kChannels = 8;
constexpr float kCut = 8.0f;  // makes values that a clamp to 6 cuts

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
  capped.options.as<Clamp>().min = 0.0f;
  capped.options.as<Clamp>().max = 6.0f;
  net.node(Op::kMean, {d}, {mean}).options.as<ReduceOptions>().axes = net.keep({1, 2});
  net.node(Op::kFullyConnected,
           {mean, net.constant("wl", DType::kF32, {5, kChannels}, values(5 * kChannels, 0.5f)),
            net.constant("bl", DType::kF32, {5}, values(5, 0.2f))},
           {logits});
  net.output(logits);
  return net.finish();
}

// image [1, 6, 6, 4] -> a: conv to 8 channels -> c: normalization -> d: conv -> mean -> logits. Channel 3 of c is `outlier` times
// as large, and d's weights take that back.
AlignedBytes normalized_net(float outlier) {
  ModelBuilder net;
  Random random(6);
  const std::vector<int32_t> map{1, kSide, kSide, kChannels};
  const int32_t image = net.tensor("image", DType::kF32, {1, kSide, kSide, 4});
  const int32_t a = net.tensor("a", DType::kF32, map), c = net.tensor("c", DType::kF32, map),
                d = net.tensor("d", DType::kF32, map), mean = net.tensor("mean", DType::kF32, {1, kChannels}),
                logits = net.tensor("logits", DType::kF32, {1, 5});
  const auto constant = [&](const char* name, const std::vector<int32_t>& shape,
                            const std::vector<float>& v) {
    return net.constant(name, DType::kF32, shape, v);
  };
  std::vector<float> scale = random.reals(kChannels, 0.5f, 1.5f),
                     wd = random.reals(kChannels * kChannels, -0.5f, 0.5f);
  scale[3] *= outlier;
  for (size_t i = 0; i < kChannels; ++i) wd[i * kChannels + 3] /= outlier;
  net.input(image);
  net.node(Op::kConv2d,
           {image, constant("wa", {kChannels, 1, 1, 4}, random.reals(kChannels * 4, -0.5f, 0.5f)),
            constant("ba", {kChannels}, random.reals(kChannels, -0.2f, 0.2f))},
           {a});
  const int32_t factors = constant("scale", {kChannels}, scale),
                zeros = constant("zeros", {kChannels}, std::vector<float>(kChannels, 0.0f));
  net.node(Op::kNormalize, {a, factors, zeros}, {c}).options.as<NormalizeOptions>().epsilon = 1e-5f;
  net.node(Op::kConv2d,
           {c, constant("wd", {kChannels, 1, 1, kChannels}, wd),
            constant("bd", {kChannels}, random.reals(kChannels, -0.2f, 0.2f))},
           {d});
  net.node(Op::kMean, {d}, {mean}).options.as<ReduceOptions>().axes = net.keep({1, 2});
  net.node(Op::kFullyConnected,
           {mean, constant("wl", {5, kChannels}, random.reals(5 * kChannels, -0.5f, 0.5f)),
            constant("bl", {5}, random.reals(5, -0.2f, 0.2f))},
           {logits});
  net.output(logits);
  return net.finish();
}

constexpr RecoveryMask kScaling = recovery::kEqualization;

enum class Between { kRelu, kLeakyRelu, kRelu6, kHardTanh, kSwish, kHardSwish, kGelu };

// image [1, 6, 6, 4] -> a: conv to 8 channels, a function of it -> d: depthwise -> e: conv -> mean -> logits. The biases are one
// constant of zeros. Channel 3 of a is `outlier` times as large, and d's weights take that back. Of clamps it is that of the
// other channels that is small. Each channel is `grade` times quieter than the one before it, too.
AlignedBytes depthwise_net(float outlier, Between between, float grade = 1.0f) {
  const Op function = between == Between::kLeakyRelu   ? Op::kLeakyRelu
                      : between == Between::kSwish     ? Op::kSwish
                      : between == Between::kHardSwish ? Op::kHardSwish
                      : between == Between::kGelu      ? Op::kGelu
                                                       : Op::kNone;
  const bool clamps = between == Between::kRelu6 || between == Between::kHardTanh;
  ModelBuilder net;
  Random random(8);
  const std::vector<int32_t> map{1, kSide, kSide, kChannels};
  const int32_t image = net.tensor("image", DType::kF32, {1, kSide, kSide, 4});
  const int32_t a = net.tensor("a", DType::kF32, map), d = net.tensor("d", DType::kF32, map),
                e = net.tensor("e", DType::kF32, map), mean = net.tensor("mean", DType::kF32, {1, kChannels}),
                logits = net.tensor("logits", DType::kF32, {1, 5});
  const auto constant = [&](const char* name, const std::vector<int32_t>& shape,
                            const std::vector<float>& v) {
    return net.constant(name, DType::kF32, shape, v);
  };
  std::vector<float> wa = random.reals(kChannels * 4, -0.5f, 0.5f),
                     wd = random.reals(9 * kChannels, -0.5f, 0.5f);
  for (size_t i = 0; i < 4; ++i) wa[3 * 4 + i] *= clamps ? kCut : outlier;
  for (size_t tap = 0; tap < 9; ++tap) wd[tap * kChannels + 3] /= clamps ? kCut : outlier;
  for (int32_t c = 0; clamps && c < kChannels; ++c)
    for (int32_t i = 0; c != 3 && i < 4; ++i) wa[static_cast<size_t>(c * 4 + i)] *= kCut / outlier;
  for (size_t i = 0; clamps && i < wd.size(); ++i)
    if (i % kChannels != 3) wd[i] *= outlier / kCut;
  for (size_t i = 0; i < wa.size(); ++i) wa[i] /= std::pow(grade, static_cast<float>(i / 4));
  for (size_t i = 0; i < wd.size(); ++i) wd[i] *= std::pow(grade, static_cast<float>(i % kChannels));
  const int32_t zeros = constant("zeros", {kChannels}, std::vector<float>(kChannels, 0.0f));
  net.input(image);
  const int32_t linear = function != Op::kNone ? net.tensor("linear", DType::kF32, map) : a;
  GraphNode& first =
      net.node(Op::kConv2d, {image, constant("wa", {kChannels, 1, 1, 4}, wa), zeros}, {linear});
  if (function == Op::kLeakyRelu)
    net.node(function, {linear}, {a}).options.as<UnaryOptions>().alpha = 0.1f;
  else if (function != Op::kNone)
    net.node(function, {linear}, {a});
  else
    first.options.as<Clamp>().min = between == Between::kHardTanh ? -6.0f : 0.0f;
  if (clamps) first.options.as<Clamp>().max = 6.0f;
  Window2d& window = net.node(Op::kDepthwiseConv2d, {a, constant("wd", {3, 3, kChannels}, wd), zeros}, {d})
                         .options.as<Window2d>();
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  net.node(Op::kConv2d,
           {d, constant("we", {kChannels, 1, 1, kChannels}, random.reals(kChannels * kChannels, -0.5f, 0.5f)),
            zeros},
           {e});
  net.node(Op::kMean, {e}, {mean}).options.as<ReduceOptions>().axes = net.keep({1, 2});
  net.node(Op::kFullyConnected,
           {mean, constant("wl", {5, kChannels}, random.reals(5 * kChannels, -0.5f, 0.5f)),
            constant("bl", {5}, random.reals(5, -0.2f, 0.2f))},
           {logits});
  net.output(logits);
  return net.finish();
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

// Equalization scales all of them by channel. Another operator that has such is to be judged here, too.
TEST_CASE("constants of reals are factors and summands of the output's channels") {
  const auto normalized = [](bool scaled) {
    Random random(4);
    ModelBuilder b;
    const auto factors = [&](const char* name) {
      std::vector<float> values = random.reals(kChannels, 0.5f, 1.5f);
      for (int32_t c = 0; c < kChannels && scaled; ++c)
        values[static_cast<size_t>(c)] = std::ldexp(values[static_cast<size_t>(c)], c - 3);
      return b.constant(name, DType::kF32, {kChannels}, values);
    };
    const int32_t x = b.tensor("x", DType::kF32, {5, kChannels}),
                  y = b.tensor("y", DType::kF32, {5, kChannels});
    b.input(x);
    b.output(y);
    b.node(Op::kNormalize, {x, factors("scale"), factors("bias")}, {y})
        .options.as<NormalizeOptions>()
        .epsilon = 1e-5f;
    return RunningModel(b.finish()).run<float>(Random(5).reals(5 * kChannels, -1.0f, 1.0f));
  };
  for (const OpDef* const def : float_ops())
    if (def->quant.real_inputs >= 0) CHECK(def->op == Op::kNormalize);
  const std::vector<float> plain = normalized(false), scaled = normalized(true);
  for (size_t i = 0; i < plain.size(); ++i)
    CHECK(scaled[i] == std::ldexp(plain[i], static_cast<int32_t>(i % kChannels) - 3));
}

TEST_CASE("an outlier channel no longer takes the others' codes, and the state stays the unscaled model's") {
  const AlignedBytes net = residual_net(64.0f);
  const RecoveryOutcome outcome = calibrate(net, {kScaling});
  CHECK(outcome.verdict(kScaling) == RecoveryVerdict::kKept);
  CHECK(outcome.after < 0.1 * outcome.before);
  CHECK(outcome.state_after == outcome.state_before);
  CHECK(outcome.says("channels scaled"));
  CHECK(calibrate(net, {kScaling, true}).bytes == outcome.bytes);
  CHECK(calibrate(net, {kScaling, false, isa::kScalar}).bytes == outcome.bytes);
  for (const int32_t threads : {2, 8})
    CHECK(calibrate(net, {kScaling, true, isa::kAvx2, threads}).bytes == outcome.bytes);
  // It cannot help a model whose channels are alike, and then leaves it as it was.
  const RecoveryOutcome even = calibrate(residual_net(1.0f), {kScaling});
  CHECK(even.verdict(kScaling) != RecoveryVerdict::kKept);
  CHECK(!even.says("channels scaled"));
  CHECK(even.after == even.before);
}

TEST_CASE("an outlier channel of a normalization goes into its factors and the weights behind it") {
  const RecoveryOutcome outcome = calibrate(normalized_net(64.0f), {kScaling});
  CHECK(outcome.verdict(kScaling) == RecoveryVerdict::kKept);
  CHECK(outcome.after < 0.3 * outcome.before);
  CHECK(outcome.state_after == outcome.state_before);
}

TEST_CASE("before a depthwise layer each channel has a scale of its own, whatever its factor is") {
  constexpr RecoveryMask kDepthwise = recovery::kDepthwiseScales;
  for (const Between between : {Between::kRelu, Between::kLeakyRelu, Between::kRelu6, Between::kHardTanh,
                                Between::kSwish, Between::kHardSwish, Between::kGelu}) {
    CAPTURE(static_cast<int32_t>(between));
    const AlignedBytes net = depthwise_net(50.0f, between);
    const RecoveryOutcome outcome = calibrate(net, {kDepthwise});
    CHECK(outcome.verdict(kDepthwise) == RecoveryVerdict::kKept);
    CHECK(outcome.after < 0.1 * outcome.before);
    CHECK(outcome.state_after == outcome.state_before);
    CHECK(outcome.says("depthwise scales"));
    CHECK(calibrate(net, {kDepthwise, true}).bytes == outcome.bytes);
    CHECK(calibrate(net, {kDepthwise, false, isa::kScalar}).bytes == outcome.bytes);
    CHECK(calibrate(net, {kDepthwise, true, isa::kAvx2, 8}).bytes == outcome.bytes);
    CHECK(calibrate(net, {kDepthwise, false, isa::kAll, 1, 12, false}).bytes == outcome.bytes);
    // The recoveries behind it start from the scaled model, and leave it as it was.
    const RecoveryMask all = kDepthwise | kScaling | recovery::kBiasAbsorption | recovery::kDefault;
    const RecoveryOutcome both = calibrate(net, {all});
    CHECK(both.after < 0.1 * both.before);
    CHECK(both.state_after == both.state_before);
    CHECK(calibrate(net, {all, true, isa::kScalar, 1, 12, false}).bytes == both.bytes);
    const RecoveryOutcome even = calibrate(depthwise_net(1.0f, between), {kDepthwise});
    CHECK(!even.says("depthwise scales"));
    CHECK(even.after == even.before);
    CHECK(calibrate(net, {kDepthwise, false, isa::kAll, 1, 3}).verdict(kDepthwise) ==
          RecoveryVerdict::kTooFewSamples);
  }
}

TEST_CASE("quiet channels that large weights read have tables as fine as the others'") {
  constexpr RecoveryMask kDepthwise = recovery::kDepthwiseScales;
  const RecoveryOutcome outcome = calibrate(depthwise_net(1.0f, Between::kSwish, 4.0f), {kDepthwise});
  CHECK(outcome.verdict(kDepthwise) == RecoveryVerdict::kKept);
  CHECK(outcome.after < 0.05 * outcome.before);
}

TEST_CASE("a function in FP32, or on codes of 16 bits, has no factors") {
  HostArena memory;
  const AlignedBytes net = depthwise_net(50.0f, Between::kSwish);
  const Result<Model> model = Model::open(net.view());
  REQUIRE(static_cast<bool>(model));
  int32_t swish = -1;
  for (int32_t n = 0; n < model->node_count(); ++n)
    if (model->node(n).op == Op::kSwish) swish = n;
  REQUIRE(swish >= 0);
  CHECK(takes_factors(*model, swish, {}));
  CalibratorOptions in_float, wide;
  in_float.float_nodes = {&swish, 1};
  CHECK(!takes_factors(*model, swish, in_float));
  SlotSetting setting;
  setting.node = swish;
  setting.bits = 16;
  wide.slots = {&setting, 1};
  CHECK(!takes_factors(*model, swish, wide));
}

TEST_CASE("sets of channels before depthwise layers are those that such a layer reads") {
  HostArena memory;
  const AlignedBytes residual = residual_net(1.0f), depthwise = depthwise_net(1.0f, Between::kLeakyRelu);
  CHECK(group_channels(*Model::open(residual.view()), memory.arena(), ChannelSets::kDepthwise).channels == 0);
  const Result<Model> model = Model::open(depthwise.view());
  REQUIRE(static_cast<bool>(model));
  const ChannelGroups groups = group_channels(*model, memory.arena(), ChannelSets::kDepthwise);
  CHECK(groups.channels == kChannels);  // of linear and a, which are one set
  for (int32_t t = 0; t < model->tensor_count(); ++t) {
    const std::string name = model->tensor(t).name;
    CAPTURE(name);
    CHECK(groups.is_free(t) == (name == "linear" || name == "a"));
  }
}

}  // namespace intaglio::test::equalization_test
