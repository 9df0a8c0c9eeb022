// Which layers to keep in FP32: what the choice rests on, and the choice itself beside the best of all.
#include "calibrator/host/accuracy/float_layers.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/judge/evaluate.h"
#include "intaglio/calibrator.h"
#include "tests/support/random.h"
#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

// A chain with some shortcuts.
std::vector<LayerSensitivity> random_layers(Random& random, int32_t count) {
  std::vector<LayerSensitivity> layers;
  for (int32_t i = 0; i < count; ++i) {
    LayerSensitivity layer;
    layer.nodes = {i};
    layer.reads = {i - 1};
    if (i > 1 && random.one_in(3)) layer.reads.push_back(random.between(0, i - 2));
    layer.own_error = std::pow(10.0, static_cast<double>(random.real(-5.0f, -2.0f)));
    layer.output_error = std::pow(10.0, static_cast<double>(random.real(-5.0f, -2.0f)));
    layer.macs = random.between(1, 4) * 1000;
    layer.weight_bytes = random.between(1, 4) * 100;
    layer.output_elements = random.between(10, 200);
    layers.push_back(layer);
  }
  return layers;
}

std::vector<bool> flags(int32_t bits, size_t count) {
  std::vector<bool> set(count);
  for (size_t i = 0; i < count; ++i) set[i] = (bits >> i & 1) != 0;
  return set;
}

}  // namespace

TEST_CASE(
    "the choice does what is asked for, needs each of its layers, and costs little more than the best") {
  Random random(3);
  double chosen_cost = 0.0, best_cost = 0.0;
  for (int round = 0; round < 60; ++round) {
    const size_t count = 9;
    const FloatLayers layers(random_layers(random, static_cast<int32_t>(count)), 1e-4);
    const double wanted =
        layers.error(flags(0, count)) * std::pow(10.0, static_cast<double>(random.real(-1.5f, -0.1f)));
    std::vector<bool> chosen = layers.choose(wanted);
    double best = std::numeric_limits<double>::infinity();
    for (int32_t bits = 0; bits < (1 << count) - 1; ++bits) {
      const std::vector<bool> set = flags(bits, count);
      if (layers.error(set) <= wanted) best = std::min(best, layers.cost(set).total());
    }
    if (best == std::numeric_limits<double>::infinity()) {
      CHECK(chosen == layers.all_but_one()[0]);
      continue;
    }
    REQUIRE(layers.error(chosen) <= wanted);
    chosen_cost += layers.cost(chosen).total();
    best_cost += best;
    const double cost = layers.cost(chosen).total();
    for (size_t i = 0; i < count; ++i) {
      if (!chosen[i]) continue;
      chosen[i] = false;
      CHECK((layers.error(chosen) > wanted || layers.cost(chosen).total() >= cost));
      chosen[i] = true;
    }
  }
  CHECK(best_cost > 0.0);
  CHECK(chosen_cost < 1.3 * best_cost);
}

TEST_CASE("a tensor between two float layers is not rounded, one at a border is") {
  std::vector<LayerSensitivity> chain(3);
  for (int32_t i = 0; i < 3; ++i) {
    chain[static_cast<size_t>(i)].reads = {i - 1};
    chain[static_cast<size_t>(i)].own_error = 1.0;
    chain[static_cast<size_t>(i)].output_error = 10.0;
    chain[static_cast<size_t>(i)].macs = 100;
    chain[static_cast<size_t>(i)].weight_bytes = 10;
    chain[static_cast<size_t>(i)].output_elements = 1;
  }
  const FloatLayers layers(chain, 100.0);
  CHECK(layers.error({false, false, false}) == 133.0);
  CHECK(layers.error({false, true, false}) == 132.0);
  CHECK(layers.error({true, true, false}) == 21.0);
  CHECK(layers.error({false, true, true}) == 111.0);
  CHECK(layers.error({true, true, true}) == 0.0);
  CHECK(layers.cost({false, false, false}).total() == 0.0);
  CHECK(layers.cost({true, true, false}).bytes == doctest::Approx(2.0));  // 3 bytes more for 20 of 30
  for (const std::vector<bool>& but_one : layers.all_but_one())
    CHECK(std::count(but_one.begin(), but_one.end(), false) == 1);
  CHECK(layers.all_but_one()[0] == std::vector<bool>{true, false, true});
}

TEST_CASE("errors of single layers add up to about that of the int8 model") {
  const AlignedBytes bytes = small_cnn();
  const auto samples = small_cnn_samples(8);
  const Model fp32 = *Model::open(bytes.view());
  CalibratorOptions options;
  options.recover = recovery::kNone;
  AlignedBytes memory(Calibrator::measure(fp32, options)->total());
  Calibrator calibrator = *Calibrator::create(fp32, memory.span(), options);
  std::vector<Span<const uint8_t>> inputs;
  for (const auto& sample : samples)
    inputs.push_back({reinterpret_cast<const uint8_t*>(sample.data()), sample.size() * sizeof(float)});
  for (const Span<const uint8_t>& input : inputs) REQUIRE(calibrator.add({&input, 1}).ok());
  SampleSource source;
  source.context = &inputs;
  source.count = static_cast<int32_t>(inputs.size());
  source.load = [](void* context, int32_t i, Span<const Span<uint8_t>> to) {
    const auto& from =
        (*static_cast<const std::vector<Span<const uint8_t>>*>(context))[static_cast<size_t>(i)];
    memcpy(to[0].data, from.data, from.size);
    return true;
  };
  REQUIRE(calibrator.finish({}, &source).ok());
  const CalibrationReport& report = calibrator.report();
  const Model int8 = *Model::open(report.bytes);
  const auto meter = SensitivityMeter::create(fp32, int8, {});
  REQUIRE(meter);
  for (const Span<const uint8_t>& input : inputs) (*meter)->add({&input, 1});
  const FloatLayers layers((*meter)->layers(), (*meter)->input_error());

  size_t nodes = 0;
  for (const LayerSensitivity& layer : layers.layers()) {
    CHECK(layer.own_error >= 0.0);
    CHECK(layer.output_error >= 0.0);
    nodes += layer.nodes.size();
  }
  CHECK(nodes == static_cast<size_t>(fp32.node_count()));
  const double measured = report.noise / report.signal, added = layers.error(layers.floats_at_first());
  CHECK(added > measured / 3);
  CHECK(added < measured * 3);
  CHECK(layers.error(std::vector<bool>(layers.layers().size(), true)) == 0.0);
}
