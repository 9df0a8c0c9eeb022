// One head of attention behind a normalization: how exact it is in 16 bits, and that no code leaves the limits of its bits.
// Two heads with a mask: its sums have 16 bits, and it takes no codes from the scores.
#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "tests/support/calibrate.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::calibrate_attention_test {
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

AlignedBytes calibrated(const AlignedBytes& network, const CalibratorOptions& options = {}) {
  const std::vector<uint8_t> bytes = calibrate(*Model::open(network.view()), samples(), options);
  return AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
}

AlignedBytes calibrated(const std::vector<SlotSetting>& slots, RangeMethod method = RangeMethod::kAuto) {
  CalibratorOptions options;
  options.slots = {slots.data(), slots.size()};
  options.method = method;
  return calibrated(attention(), options);
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

// SQNR of the output, in dB.
double sqnr(const AlignedBytes& file, const AlignedBytes& network = attention()) {
  RunningModel exact{AlignedBytes(network.view())}, found{AlignedBytes(file.view())};
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

enum class Mask : int32_t { kAdded, kSubtracted, kComputed };

// x [1, 6, 8]: two heads, one behind the other; the scores of the first are 8 times as large. Both add, or subtract, one mask,
// which makes the scores of what stands behind a place lower by `far`. Computed: by operators that have no int8 version.
AlignedBytes masked_attention(float far, Mask mask = Mask::kAdded) {
  ModelBuilder b;
  const Dims places{1, kPlaces, kChannels}, square{1, kPlaces, kPlaces};
  const auto tensor = [&b](const std::string& name, const Dims& dims) {
    return b.tensor(name, DType::kF32, dims);
  };
  const auto number = [&b](const std::string& name, float v) {
    return b.constant<float>(name, DType::kF32, {1, 1, 1}, {v});
  };
  std::vector<float> values(size_t{kPlaces} * kPlaces, 0.0f);
  for (size_t i = 0; i < kPlaces; ++i)
    for (size_t j = i + 1; j < kPlaces; ++j) values[i * kPlaces + j] = mask == Mask::kSubtracted ? far : -far;
  int32_t x = tensor("x", places), added = b.constant("mask", DType::kF32, square, values);
  b.input(x);
  if (mask == Mask::kComputed) {
    const int32_t whole = b.tensor("whole", DType::kS32, places), real = tensor("real", places),
                  mean = tensor("mean", {1, 1, 1}), zero = tensor("zero", {1, 1, 1}),
                  made = tensor("made", square);
    b.node(Op::kCast, {x}, {whole});
    b.node(Op::kCast, {whole}, {real});
    b.node(Op::kMean, {real}, {mean}).options.as<ReduceOptions>().axes = b.keep({1, 2});
    b.node(Op::kMul, {mean, number("none", 0.0f)}, {zero});
    b.node(Op::kWhere, {number("one", 1.0f), added, zero}, {made});
    added = made;
  }
  for (const std::string name : {"a", "b"}) {
    const int32_t scores = tensor("scores_" + name, square), larger = tensor("larger_" + name, square),
                  sum = tensor("sum_" + name, square), shares = tensor("shares_" + name, square),
                  y = tensor("y_" + name, places);
    b.node(Op::kBatchMatMul, {x, x}, {scores}).options.as<BatchMatMulOptions>().transpose_b = true;
    b.node(Op::kMul, {scores, number("factor_" + name, name == "a" ? 8.0f : 1.0f)}, {larger});
    b.node(mask == Mask::kSubtracted ? Op::kSub : Op::kAdd, {larger, added}, {sum});
    b.node(Op::kSoftmax, {sum}, {shares});
    b.node(Op::kBatchMatMul, {shares, x}, {y});
    x = y;
  }
  b.output(x);
  return b.finish();
}

int32_t node_that_writes(const Model& model, const std::string& tensor) {
  for (int32_t n = 0; n < model.node_count(); ++n)
    if (model.tensor(model.node(n).outputs[0]).name == tensor) return n;
  return -1;
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

TEST_CASE("a sum of scores and a mask has 16 bits, its Softmax reads them, and what is masked has no share") {
  struct Case {
    float far;
    Mask mask;
  };
  for (const Case c : {Case{5.0f, Mask::kAdded}, Case{1e4f, Mask::kAdded}, Case{FLT_MAX, Mask::kAdded},
                       Case{1e9f, Mask::kSubtracted}, Case{1e9f, Mask::kComputed}}) {
    CAPTURE(c.far);
    CAPTURE(static_cast<int32_t>(c.mask));
    const AlignedBytes network = masked_attention(c.far, c.mask);
    const AlignedBytes file = calibrated(network);
    RunningModel running{AlignedBytes(file.view())};
    REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
    const Model& model = running.model();
    int32_t wide_sums = 0, wide_softmaxes = 0;
    for (int32_t n = 0; n < model.node_count(); ++n) {
      const NodeInfo node = model.node(n);
      const bool wide = model.tensor(node.inputs[0]).dtype == DType::kS16;
      const bool sums = node.op == Op::kAdd || node.op == Op::kSub;
      if (sums && wide && model.tensor(node.inputs[1]).dtype == DType::kS16) ++wide_sums;
      if (node.op == Op::kSoftmax && wide) ++wide_softmaxes;
    }
    CHECK(wide_sums == 2);
    CHECK(wide_softmaxes == 2);

    CalibratorOptions in_float;
    const Result<Model> fp32 = Model::open(network.view());
    const int32_t sums[] = {node_that_writes(*fp32, "sum_a"), node_that_writes(*fp32, "sum_b")};
    in_float.float_nodes = {sums, 2};
    const double wide = sqnr(file, network), exact = sqnr(calibrated(network, in_float), network);
    CAPTURE(exact);
    CHECK(wide > exact - 0.5);
    CHECK(wide > 20.0);

    set_input(running, samples()[0]);
    int32_t masked = 0;
    for (int32_t n = 0; n < model.node_count(); ++n) {
      running.session().run_nodes(n, n + 1);
      const TensorView view = running.session().tensor(model.node(n).outputs[0]);
      const std::string name = view.info.name;
      if (c.far < 100.0f || (name != "shares_a" && name != "shares_b")) continue;
      const std::vector<double> shares = reals_of(view);
      for (size_t i = 0; i < kPlaces; ++i)
        for (size_t j = i + 1; j < kPlaces; ++j) {
          CHECK(shares[i * kPlaces + j] == 0.0);
          ++masked;
        }
    }
    CHECK(masked == (c.far < 100.0f ? 0 : kPlaces * (kPlaces - 1)));
  }
}

TEST_CASE("a sum of scores that the caller keeps in FP32 keeps its Softmax there") {
  const AlignedBytes network = masked_attention(1e9f);
  const Result<Model> fp32 = Model::open(network.view());
  const int32_t sum = node_that_writes(*fp32, "sum_a");
  CalibratorOptions options;
  options.float_nodes = {&sum, 1};
  const AlignedBytes file = calibrated(network, options);
  const Result<Model> model = Model::open(file.view());
  REQUIRE(model);
  int32_t reals = 0, wide = 0;
  for (int32_t n = 0; n < model->node_count(); ++n) {
    const NodeInfo node = model->node(n);
    if (node.op != Op::kSoftmax && node.op != Op::kAdd) continue;
    const DType dtype = model->tensor(node.inputs[0]).dtype;
    reals += dtype == DType::kF32 ? 1 : 0;
    wide += dtype == DType::kS16 ? 1 : 0;
  }
  CHECK(reals == 2);
  CHECK(wide == 2);
}

}  // namespace intaglio::test::calibrate_attention_test
