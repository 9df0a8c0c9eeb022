// Which layers get 16 bits or stay in FP32: what the choice rests on, and the choice itself beside the best of all.
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
    layer.can_be_wide = random.one_in(2);
    layers.push_back(layer);
  }
  return layers;
}

constexpr LayerType kI = LayerType::kInt8, kW = LayerType::kInt16, kF = LayerType::kFloat;

// Each layer's type, the number's digits in base 3.
LayerTypes types_of(int32_t number, size_t count) {
  LayerTypes types(count);
  for (size_t i = 0; i < count; ++i, number /= 3) types[i] = static_cast<LayerType>(number % 3);
  return types;
}

}  // namespace

TEST_CASE(
    "the choice does what is asked for, needs each of its layers, and costs little more than the best") {
  Random random(3);
  double chosen_cost = 0.0, best_cost = 0.0;
  int32_t wide = 0, missed = 0;
  for (int round = 0; round < 40; ++round) {
    const size_t count = 7;
    const FloatLayers layers(random_layers(random, static_cast<int32_t>(count)), 1e-4);
    const double wanted =
        layers.error(types_of(0, count)) * std::pow(10.0, static_cast<double>(random.real(-1.5f, -0.1f)));
    LayerTypes chosen = layers.choose(wanted);
    double best = std::numeric_limits<double>::infinity();
    for (int32_t number = 0; number < 2187; ++number) {
      const LayerTypes types = types_of(number, count);
      bool is_possible = std::count(types.begin(), types.end(), kF) < static_cast<std::ptrdiff_t>(count);
      for (size_t i = 0; i < count; ++i)
        is_possible = is_possible && (types[i] != kW || layers.layers()[i].can_be_wide);
      if (is_possible && layers.error(types) <= wanted) best = std::min(best, layers.cost(types).total());
    }
    if (best == std::numeric_limits<double>::infinity()) {
      CHECK(chosen == layers.all_but_one()[0]);
      continue;
    }
    missed += layers.error(chosen) <= wanted ? 0 : 1;  // little more error than is wanted was reached
    if (layers.error(chosen) > wanted) continue;
    chosen_cost += layers.cost(chosen).total();
    best_cost += best;
    const double cost = layers.cost(chosen).total();
    for (size_t i = 0; i < count; ++i) {
      const LayerType now = chosen[i];
      wide += now == kW ? 1 : 0;
      CHECK((now != kW || layers.layers()[i].can_be_wide));
      if (now == kI) continue;
      chosen[i] = kI;
      CHECK((layers.error(chosen) > wanted || layers.cost(chosen).total() >= cost));
      chosen[i] = now;
    }
  }
  CHECK(wide > 0);
  CHECK(missed <= 1);
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
  CHECK(layers.error({kI, kI, kI}) == 133.0);
  CHECK(layers.error({kI, kF, kI}) == 132.0);
  CHECK(layers.error({kF, kF, kI}) == 21.0);
  CHECK(layers.error({kI, kF, kF}) == 111.0);
  CHECK(layers.error({kF, kF, kF}) == 0.0);
  // 16 bits take the rounding of their own output alone; an FP32 tensor that codes read is one of 8 bits there.
  CHECK(layers.error({kI, kW, kI}) == 123.0);
  CHECK(layers.error({kW, kW, kW}) == 103.0);
  CHECK(layers.error({kW, kF, kI}) == 122.0);
  CHECK(layers.cost({kI, kI, kI}).total() == 0.0);
  CHECK(layers.cost({kF, kF, kI}).bytes == doctest::Approx(2.0));  // 3 bytes more for 20 of 30
  CHECK(layers.cost({kW, kW, kI}).bytes == 0.0);
  // What reads 16 bits computes in them, too.
  CHECK(layers.cost({kI, kW, kI}).time > layers.cost({kI, kI, kW}).time);
  for (const LayerTypes& but_one : layers.all_but_one()) {
    CHECK(std::count(but_one.begin(), but_one.end(), kI) == 1);
    CHECK(std::count(but_one.begin(), but_one.end(), kF) == 2);
  }
  CHECK(layers.all_but_one()[0] == LayerTypes{kF, kI, kF});
}

TEST_CASE("what was measured of the first and of the widest model says what weights and what rounding cost") {
  std::vector<LayerSensitivity> chain(3);
  for (int32_t i = 0; i < 3; ++i) {
    LayerSensitivity& layer = chain[static_cast<size_t>(i)];
    layer.reads = {i - 1};
    layer.own_error = 2.0;
    layer.output_error = 1.0;
    layer.macs = 100;
    layer.can_be_wide = i != 1;
  }
  FloatLayers layers(chain, 1.0);
  CHECK(layers.widest() == LayerTypes{kW, kI, kW});
  CHECK(layers.error(layers.types_at_first()) == 10.0);
  CHECK(layers.error(layers.widest()) == 8.0);
  layers.fit(20.0, 12.0);  // of 4 kinds of rounding two go
  CHECK(layers.error(layers.types_at_first()) == doctest::Approx(20.0));
  CHECK(layers.error(layers.widest()) == doctest::Approx(12.0));
  CHECK(layers.error({kF, kF, kF}) == 0.0);
  layers.fit(20.0, 21.0);  // nothing is gained: the weights' are all of it
  CHECK(layers.error(layers.types_at_first()) == doctest::Approx(20.0));
  CHECK(layers.error(layers.widest()) > 19.8);
}

TEST_CASE("16 bits come before FP32 where that is cheaper, and always without an FPU") {
  std::vector<LayerSensitivity> chain(4);
  for (int32_t i = 0; i < 4; ++i) {
    LayerSensitivity& layer = chain[static_cast<size_t>(i)];
    layer.reads = {i - 1};
    layer.own_error = 1.0;
    layer.output_error = i == 2 ? 50.0 : 1.0;
    layer.macs = 1000;
    layer.weight_bytes = 1000;
    layer.output_elements = 10;
    layer.can_be_wide = true;
  }
  const LayerTypes in_codes = FloatLayers(chain, 0.0).choose(10.0);
  CHECK(in_codes[2] == kW);
  CHECK(std::count(in_codes.begin(), in_codes.end(), kF) == 0);
  chain[2].can_be_wide = false;
  const LayerTypes in_float = FloatLayers(chain, 0.0).choose(10.0);
  CHECK(std::count(in_float.begin(), in_float.end(), kW) == 0);
  CHECK(in_float[2] == kF);
  // 40 % of the error is the weights' of two layers, which 16 bits do not take away.
  for (LayerSensitivity& layer : chain) layer.can_be_wide = true;
  chain[1].own_error = chain[2].own_error = 30.0;
  for (const bool has_fpu : {true, false}) {
    const FloatLayers layers(chain, 0.0, has_fpu);
    const LayerTypes types = layers.choose(64.0);
    CHECK(types[2] == (has_fpu ? types[2] : kW));
    CHECK(layers.error(types) <= 64.0);
    const LayerTypes finest = layers.choose(3.0);
    CHECK(std::count(finest.begin(), finest.end(), kF) >= 2);
    CHECK(layers.error(finest) <= 3.0);
  }
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
  const double measured = report.noise / report.signal, added = layers.error(layers.types_at_first());
  CHECK(added > measured / 3);
  CHECK(added < measured * 3);
  CHECK(layers.error(LayerTypes(layers.layers().size(), kF)) == 0.0);
}
