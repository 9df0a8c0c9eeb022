// Degenerate weights and activations: what the calibrator makes of them is bounded, or the tensor is named.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/real_values.h"

namespace intaglio::test::degenerate_model_test {
namespace {

constexpr size_t kChannels = 4, kPixels = 4 * 4;

struct Layer {
  std::vector<float> weights = {0.5f, -0.25f, 1.0f, 0.75f};  // [channels, 1, 1, 1]
  std::vector<float> bias = {0.0f, 1.0f, -1.0f, 0.5f};
};

// Input [1, 4, 4, 1], convolution 1 x 1 + ReLU "hidden", convolution 1 x 1 "y" [1, 4, 4, 1] that sums.
AlignedBytes model_of(const Layer& layer) {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 4, 4, 1});
  const int32_t hidden = b.tensor("hidden", DType::kF32, {1, 4, 4, 4});
  const int32_t y = b.tensor("y", DType::kF32, {1, 4, 4, 1});
  b.input(x);
  b.output(y);
  GraphNode& conv = b.node(Op::kConv2d,
                           {x, b.constant<float>("w", DType::kF32, {4, 1, 1, 1}, layer.weights),
                            b.constant<float>("b", DType::kF32, {4}, layer.bias)},
                           {hidden});
  conv.options.as<Window2d>().kernel_h = conv.options.as<Window2d>().kernel_w = 1;
  conv.options.as<Clamp>().min = 0.0f;
  GraphNode& sum = b.node(Op::kConv2d,
                          {hidden, b.constant<float>("w2", DType::kF32, {1, 1, 1, 4}, {1, 1, 1, 1}),
                           b.constant<float>("b2", DType::kF32, {1}, {0})},
                          {y});
  sum.options.as<Window2d>().kernel_h = sum.options.as<Window2d>().kernel_w = 1;
  return b.finish();
}

std::vector<float> ramp(float from, float to) {
  std::vector<float> sample(kPixels);
  for (size_t i = 0; i < kPixels; ++i)
    sample[i] = from + (to - from) * static_cast<float>(i) / static_cast<float>(kPixels - 1);
  return sample;
}

// The int8 model, or the error.
Error calibrate(const AlignedBytes& file, const std::vector<float>& sample, std::vector<uint8_t>* written) {
  const Result<Model> model = Model::open(file.view());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  const Result<CalibratorNeeds> needs = Calibrator::measure(*model);
  if (!needs) return needs.error();
  AlignedBytes memory(needs->total());
  Result<Calibrator> calibrator = Calibrator::create(*model, memory.span());
  if (!calibrator) return calibrator.error();
  const Span<const uint8_t> input(reinterpret_cast<const uint8_t*>(sample.data()),
                                  sample.size() * sizeof(float));
  const Error added = calibrator->add({&input, 1});
  if (!added.ok()) return added;
  ModelSink sink;
  sink.context = written;
  sink.write = [](void* context, Span<const uint8_t> bytes) {
    static_cast<std::vector<uint8_t>*>(context)->assign(bytes.begin(), bytes.end());
    return true;
  };
  return calibrator->finish(sink);
}

// Calibrates, holds every scale within its bounds, and gives the int8 output as real numbers.
std::vector<float> int8_output(const AlignedBytes& file, const std::vector<float>& sample) {
  std::vector<uint8_t> written;
  const Error error = calibrate(file, sample, &written);
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  RunningModel running{AlignedBytes(Span<const uint8_t>(written.data(), written.size()))};
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error(), &running.model()));
  const Model& model = running.model();
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    for (const float scale : model.tensor(t).quantization.scales) {
      CHECK(scale >= 0x1p-40f);
      CHECK(scale <= 0x1p40f);
    }
  }
  return run_reals(running, sample);
}

std::vector<float> exact(const Layer& layer, const std::vector<float>& sample) {
  std::vector<float> values;
  for (const float x : sample) {
    float sum = 0;
    for (size_t c = 0; c < kChannels; ++c) sum += std::max(0.0f, x * layer.weights[c] + layer.bias[c]);
    values.push_back(sum);
  }
  return values;
}

// Largest difference, in shares of the largest value.
double difference(const Layer& layer, const std::vector<float>& sample) {
  const auto reference = exact(layer, sample), found = int8_output(model_of(layer), sample);
  double worst = 0, largest = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(reference[i]) - static_cast<double>(found[i])));
    largest = std::max(largest, std::abs(static_cast<double>(reference[i])));
  }
  return largest == 0 ? worst : worst / largest;
}

}  // namespace

TEST_CASE("weights that are no numbers: the tensor and the channel") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Layer layer;
    layer.weights[2] = bad;
    const AlignedBytes file = model_of(layer);
    std::vector<uint8_t> written;
    const Error error = calibrate(file, ramp(0, 1), &written);
    CHECK(error.status == Status::kNonFinite);
    CHECK(error.value == 2);
    const Result<Model> model = Model::open(file.view());
    CHECK(std::string(model->tensor(error.tensor).name) == "w");
    CHECK(written.empty());
  }
}

TEST_CASE("a dead channel keeps its bias, others their precision") {
  Layer layer;
  CHECK(difference(layer, ramp(-4, 4)) < 0.02);
  layer.weights[1] = 0.0f;
  CHECK(difference(layer, ramp(-4, 4)) < 0.02);
  layer.bias[1] = 0.0f;
  CHECK(difference(layer, ramp(-4, 4)) < 0.02);
  layer.weights.assign(kChannels, 0.0f);
  CHECK(difference(layer, ramp(-4, 4)) < 0.02);
}

TEST_CASE("a network that gives zero everywhere: ReLU is never active") {
  Layer layer;
  layer.bias.assign(kChannels, -100.0f);
  CHECK(difference(layer, ramp(-4, 4)) == 0.0);
}

TEST_CASE("subnormal and tiny numbers") {
  Layer layer;
  layer.bias.assign(kChannels, 0.0f);
  // Too small for any scale: all zero.
  const auto found = int8_output(model_of(layer), ramp(0, 1e-39f));
  for (const float value : found) CHECK(std::abs(value) <= 0x1p-33f);
  layer.weights.assign(kChannels, 1e-40f);
  layer.bias = {1.0f, 2.0f, 3.0f, 4.0f};
  CHECK(difference(layer, ramp(-1, 1)) < 0.02);
}

TEST_CASE("one huge value among small ones, in the weights and in a sample") {
  Layer layer;
  layer.weights[0] = 1e6f;
  CHECK(difference(layer, ramp(-4, 4)) < 0.02);
  auto sample = ramp(0, 1);
  sample[7] = 1e7f;
  CHECK(difference(Layer(), sample) < 0.02);
}

TEST_CASE("numbers beyond every scale are held to the largest one") {
  Layer layer;
  layer.weights = {1e30f, 1.0f, 1.0f, 1.0f};
  std::vector<uint8_t> written;
  const Error error = calibrate(model_of(layer), ramp(0, 4), &written);
  CHECK(error.ok());
  // Overflow in FP32 is refused: the tensor is named.
  layer.weights[0] = 3e38f;
  const Error overflow = calibrate(model_of(layer), ramp(0, 4), &written);
  CHECK(overflow.status == Status::kNonFiniteActivation);
}

}  // namespace intaglio::test::degenerate_model_test
