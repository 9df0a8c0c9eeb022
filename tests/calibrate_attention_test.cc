// One head of attention behind a normalization: how exact it is in 16 bits, and that no code leaves the limits of its bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/calibrate.h"
#include "tests/support/random.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

constexpr int32_t kPlaces = 6, kChannels = 8;
constexpr size_t kElements = size_t{kPlaces} * kChannels;

// x [1, 6, 8]: a normalization; its products with itself, their shares, and the sums of what it gives by these shares.
enum Node : int32_t { kNormal, kScores, kShares, kSums };

AlignedBytes attention() {
  Random random(9);
  ModelBuilder b;
  const auto tensor = [&](const char* name, int32_t inner) {
    return b.tensor(name, DType::kF32, {1, kPlaces, inner});
  };
  const auto factors = [&](const char* name, float lo, float hi) {
    return b.constant<float>(name, DType::kF32, {kChannels}, random.reals(kChannels, lo, hi));
  };
  const int32_t x = tensor("x", kChannels), normal = tensor("normal", kChannels),
                scores = tensor("scores", kPlaces), shares = tensor("shares", kPlaces),
                y = tensor("y", kChannels);
  b.input(x);
  b.node(Op::kNormalize, {x, factors("gamma", 0.5f, 1.5f), factors("beta", -0.1f, 0.1f)}, {normal})
      .options.as<NormalizeOptions>()
      .epsilon = 1e-5f;
  b.node(Op::kBatchMatMul, {normal, normal}, {scores}).options.as<BatchMatMulOptions>().transpose_b = true;
  b.node(Op::kSoftmax, {scores}, {shares});
  b.node(Op::kBatchMatMul, {shares, normal}, {y});
  b.output(y);
  return b.finish();
}

Samples samples() {
  Random random(11);
  Samples made;
  for (int32_t i = 0; i < 4; ++i) made.push_back(random.reals(kElements, -1.0f, 1.0f));
  return made;
}

AlignedBytes calibrated(const std::vector<SlotSetting>& slots, RangeMethod method = RangeMethod::kAuto) {
  const AlignedBytes head = attention();
  CalibratorOptions options;
  options.slots = {slots.data(), slots.size()};
  options.method = method;
  const std::vector<uint8_t> bytes = calibrate(*Model::open(head.view()), samples(), options);
  return AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
}

void set_input(RunningModel& running, const std::vector<float>& sample) {
  const TensorView input = running.session().input();
  if (input.info.dtype == DType::kF32) return running.set_input(sample);
  REQUIRE(input.info.dtype == DType::kS8);
  for (size_t i = 0; i < sample.size(); ++i) {
    const float code = std::nearbyint(sample[i] / input.info.quantization.scales[0]) +
                       static_cast<float>(input.info.quantization.zero_point);
    static_cast<int8_t*>(input.data)[i] = static_cast<int8_t>(std::clamp(code, -128.0f, 127.0f));
  }
}

std::vector<double> reals_of(const TensorView& view) {
  std::vector<double> reals;
  for (int32_t i = 0; i < view.info.shape.elements(); ++i) {
    const auto place = static_cast<size_t>(i);
    if (view.info.dtype == DType::kF32) {
      reals.push_back(static_cast<double>(view.as<float>()[place]));
      continue;
    }
    const int32_t code = view.info.dtype == DType::kS8 ? view.as<int8_t>()[place] : view.as<int16_t>()[place];
    reals.push_back((code - view.info.quantization.zero_point) *
                    static_cast<double>(view.info.quantization.scales[0]));
  }
  return reals;
}

// Of the output, in dB.
double sqnr(const AlignedBytes& file) {
  RunningModel exact{attention()}, found{AlignedBytes(file.view())};
  REQUIRE_MESSAGE(found.error().ok(), text_of(found.error()));
  double signal = 0.0, noise = 0.0;
  for (const std::vector<float>& sample : samples()) {
    set_input(exact, sample);
    set_input(found, sample);
    exact.session().run();
    found.session().run();
    const std::vector<double> a = reals_of(exact.session().output()), b = reals_of(found.session().output());
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      signal += a[i] * a[i];
      noise += (a[i] - b[i]) * (a[i] - b[i]);
    }
  }
  return 10 * std::log10(signal / noise);
}

SlotSetting bits_of(int32_t node, SlotRole role, int32_t bits) {
  SlotSetting setting;
  setting.node = node;
  setting.role = role;
  setting.bits = bits;
  return setting;
}

}  // namespace

TEST_CASE("normalization and products of activations in 16 bits, each alone and all together") {
  // With one method for all: a search may choose another for each, and its ranges differ by more than the bits of one node.
  constexpr RangeMethod kOne = RangeMethod::kMinMax;
  const double narrow = sqnr(calibrated({}, kOne));
  for (const int32_t node : {kNormal, kScores, kShares, kSums}) {
    CAPTURE(node);
    const double wide = sqnr(calibrated({bits_of(node, SlotRole::kOutput, 16)}, kOne));

    CHECK(wide > narrow);
    CHECK(wide > 35.0);
  }
  const double all = sqnr(calibrated({bits_of(-1, SlotRole::kActivations, 16)}));

  CHECK(all > 75.0);
}

TEST_CASE("no code leaves the limits of its bits, with or without a Clamp in its operator") {
  for (const int32_t bits : {4, 6, 8, 10, 12, 16}) {
    CAPTURE(bits);
    RunningModel running(calibrated({bits_of(-1, SlotRole::kActivations, bits)}));
    REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
    const Model& model = running.model();
    // One place far out: it normalizes to more than any sample did, and so do its products.
    std::vector<float> sample(kElements, 0.0f);
    for (size_t i = 0; i < kElements; i += kChannels) sample[i + 3] = 50.0f;
    set_input(running, sample);
    int32_t seen = 0;
    double most = 0.0;
    for (int32_t n = 0; n < model.node_count(); ++n) {
      running.session().run_nodes(n, n + 1);
      const TensorView view = running.session().tensor(model.node(n).outputs[0]);
      const std::string name = view.info.name;
      if (view.info.dtype == DType::kF32 || name.find("bit") != std::string::npos) continue;
      CAPTURE(name);
      ++seen;
      const bool wide = view.info.dtype == DType::kS16;
      const int32_t half = 1 << (bits - 1);
      for (int32_t i = 0; i < view.info.shape.elements(); ++i) {
        const auto place = static_cast<size_t>(i);
        const int32_t code = wide ? view.as<int16_t>()[place] : view.as<int8_t>()[place];
        most = std::max(most, std::abs(code) / static_cast<double>(half));
        REQUIRE(code >= (wide ? 1 - half : -half));
        REQUIRE(code <= half - 1);
      }
    }
    CHECK(seen >= 4);
    CHECK(most > 0.8);  // the ends are reached
  }
}
