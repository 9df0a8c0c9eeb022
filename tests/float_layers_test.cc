// Which layers get 16 bits or stay in FP32: what the choice rests on, and the choice itself beside the best of all.
#include "calibrator/host/accuracy/float_layers.h"

#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/judge/evaluate.h"
#include "intaglio/calibrator.h"
#include "tests/support/calibrate.h"
#include "tests/support/random.h"
#include "tests/support/small_models.h"

namespace intaglio::test::float_layers_test {
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
    missed += layers.error(chosen) <= wanted ? 0 : 1;
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
  CHECK(missed == 0);
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
  // A node that reads 16 bits computes in them, too.
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
    if (!has_fpu) CHECK(types[2] == kW);
    CHECK(layers.error(types) <= 64.0);
    const LayerTypes finest = layers.choose(3.0);
    CHECK(std::count(finest.begin(), finest.end(), kF) >= 2);
    CHECK(layers.error(finest) <= 3.0);
  }
}

TEST_CASE("what follows its input's codes hands 16 bits on: all behind it must take them") {
  for (const bool ends_in_prelu : {false, true}) {
    const std::vector<int32_t> dims = {1, 4, 4, 3};
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kF32, dims), conv = b.tensor("conv", DType::kF32, dims),
                  pool = b.tensor("pool", DType::kF32, dims), last = b.tensor("last", DType::kF32, dims);
    const int32_t weights =
        b.constant<float>("weights", DType::kF32, {3, 1, 1, 3}, Random(2).reals(9, -1.0f, 1.0f));
    auto& product = b.node(Op::kConv2d, {x, weights}, {conv}).options.as<Window2d>();
    product.kernel_h = product.kernel_w = 1;
    auto& window = b.node(Op::kMaxPool2d, {conv}, {pool}).options.as<Window2d>();
    window.kernel_h = window.kernel_w = 3;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
    if (ends_in_prelu)
      b.node(Op::kPRelu, {pool, b.constant<float>("slopes", DType::kF32, {3}, {0.1f, 0.2f, 0.3f})}, {last});
    else
      b.node(Op::kTanh, {pool}, {last});
    b.input(x);
    b.output(last);
    const AlignedBytes file = b.finish();
    const Model fp32 = *Model::open(file.view());
    const std::vector<float> sample = Random(3).reals(48, -1.0f, 1.0f);
    const std::vector<uint8_t> made = calibrate(fp32, {sample}, {});
    const AlignedBytes bytes{Span<const uint8_t>(made.data(), made.size())};
    const Model int8 = *Model::open(bytes.view());
    const auto meter = SensitivityMeter::create(fp32, int8, {});
    REQUIRE(meter);
    const Span<const uint8_t> input = bytes_of(sample);
    (*meter)->add({&input, 1});
    const std::vector<LayerSensitivity> layers = (*meter)->layers();
    REQUIRE(layers.size() == 3);
    CHECK(layers[0].can_be_wide == !ends_in_prelu);
    CHECK(layers[0].output_error > 0.0);
    CHECK(layers[1].follows);
    CHECK(layers[1].output_error == 0.0);
    if (ends_in_prelu) continue;
    // The pool computes in 16 bits where the convolution writes them, and narrows nothing.
    const FloatLayers types(layers, 0.0);
    CHECK(types.cost({kW, kI, kI}).time > types.cost({kI, kW, kI}).time);
    LayerSensitivity rounds = layers[1];
    rounds.follows = false;
    const FloatLayers narrowing({layers[0], rounds, layers[2]}, 0.0);
    CHECK(types.cost({kW, kI, kW}).time < narrowing.cost({kW, kI, kW}).time);
  }
}

TEST_CASE("what hands 16 bits on is not widened for those who read it") {
  std::vector<LayerSensitivity> chain(3);
  for (int32_t i = 0; i < 3; ++i) {
    LayerSensitivity& layer = chain[static_cast<size_t>(i)];
    layer.reads = {i - 1};
    layer.macs = i == 1 ? 0 : 1000;
    layer.output_elements = 100;
    layer.can_be_wide = i != 1;
  }
  // In int8 it is 1000 + 400, 400 and 1000 + 400. More by 1500 + 400, 400 and 1500 + 400; a border is 600.
  chain[1].follows = true;
  CHECK(FloatLayers(chain, 0.0).cost({kW, kI, kW}).time == 4200.0 / 3200.0);
  CHECK(FloatLayers(chain, 0.0).cost({kI, kI, kW}).time == (1900.0 + 600.0) / 3200.0);
  chain[1].follows = false;
  CHECK(FloatLayers(chain, 0.0).cost({kW, kI, kW}).time == (4200.0 + 2 * 600.0) / 3200.0);
}

TEST_CASE("integers are what they were whenever nodes run again") {
  constexpr int32_t kPlaces = 12, kWide = 64;
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, kPlaces, 4}), at = b.tensor("at", DType::kS32, {kPlaces});
  const int32_t rows = b.tensor("rows", DType::kF32, {kPlaces, 4}),
                all = b.tensor("all", DType::kF32, {1, kPlaces, 4});
  const int32_t sum = b.tensor("sum", DType::kF32, {1, kPlaces, 4}),
                y = b.tensor("y", DType::kF32, {1, kPlaces, kWide});
  b.node(Op::kGather, {b.constant<float>("table", DType::kF32, {9, 4}, Random(2).reals(36, -1.0f, 1.0f)), at},
         {rows});
  b.node(Op::kReshape, {rows}, {all});
  b.node(Op::kAdd, {x, all}, {sum});
  b.node(
      Op::kFullyConnected,
      {sum, b.constant<float>("weights", DType::kF32, {kWide, 4}, Random(4).reals(4 * kWide, -1.0f, 1.0f))},
      {y});
  b.input(x);
  b.input(at);
  b.output(y);
  const AlignedBytes file = b.finish();
  const Model fp32 = *Model::open(file.view());
  const std::vector<float> sample = Random(3).reals(4 * kPlaces, -1.0f, 1.0f);
  const std::vector<int32_t> places = {8, 0, 7, 1, 6, 2, 5, 3, 4, 8, 0, 7};
  const Span<const uint8_t> inputs[] = {
      bytes_of(sample), {reinterpret_cast<const uint8_t*>(places.data()), places.size() * sizeof(int32_t)}};

  AlignedBytes memory(Calibrator::measure(fp32, {})->total());
  Calibrator calibrator = *Calibrator::create(fp32, memory.span(), {});
  REQUIRE(calibrator.add({inputs, 2}).ok());
  REQUIRE(calibrator.finish({}, nullptr).ok());
  const Model int8 = *Model::open(calibrator.report().bytes);
  const auto meter = SensitivityMeter::create(fp32, int8, {});
  REQUIRE(meter);
  (*meter)->add({inputs, 2});

  // The same by hand: the network with its input rounded as the int8 model does.
  RunningModel exact(AlignedBytes(file.view())), rounded(AlignedBytes(file.view()));
  const Quantization& q = int8.tensor(int8.inputs()[0]).quantization;
  std::vector<float> codes = sample;
  for (float& value : codes) {
    const float code = std::nearbyint(value / q.scales[0]) + static_cast<float>(q.zero_point);
    value = (std::fmin(std::fmax(code, -128.0f), 127.0f) - static_cast<float>(q.zero_point)) * q.scales[0];
  }
  exact.set_input(sample);
  rounded.set_input(codes);
  double signal = 0.0, noise = 0.0;
  for (RunningModel* const model : {&exact, &rounded}) {
    model->set_input(places, 1);
    model->session().run();
  }
  const std::vector<float> a = exact.output<float>(), c = rounded.output<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    signal += std::pow(static_cast<double>(a[i]), 2);
    noise += std::pow(static_cast<double>(a[i] - c[i]), 2);
  }
  CHECK((*meter)->input_error() == doctest::Approx(noise / signal).epsilon(1e-4));
}

// A convolution whose channels differ up to 64-fold, a depthwise one that undoes it, and one that joins them.
AlignedBytes unlike_channels() {
  const std::vector<int32_t> dims = {1, 6, 6, 8};
  ModelBuilder b;
  Random random(5);
  std::vector<float> first = random.reals(32, -1.0f, 1.0f), second = random.reals(72, 0.1f, 1.0f);
  for (size_t c = 0; c < 8; ++c) {
    const float factor = c % 4 == 3 ? 64.0f : c % 4 == 2 ? 8.0f : 1.0f;
    for (size_t i = 0; i < 4; ++i) first[c * 4 + i] *= factor;
    for (size_t i = 0; i < 9; ++i) second[i * 8 + c] /= factor;
  }
  const int32_t x = b.tensor("x", DType::kF32, {1, 6, 6, 4}), y = b.tensor("y", DType::kF32, dims),
                z = b.tensor("z", DType::kF32, dims), last = b.tensor("last", DType::kF32, {1, 6, 6, 5});
  auto& widens = b.node(Op::kConv2d, {x, b.constant<float>("first", DType::kF32, {8, 1, 1, 4}, first)}, {y})
                     .options.as<Window2d>();
  widens.kernel_h = widens.kernel_w = 1;
  auto& window =
      b.node(Op::kDepthwiseConv2d, {y, b.constant<float>("second", DType::kF32, {3, 3, 8}, second)}, {z})
          .options.as<Window2d>();
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  auto& joins =
      b.node(Op::kConv2d,
             {z, b.constant<float>("third", DType::kF32, {5, 1, 1, 8}, random.reals(40, -1.0f, 1.0f))},
             {last})
          .options.as<Window2d>();
  joins.kernel_h = joins.kernel_w = 1;
  b.input(x);
  b.output(last);
  return b.finish();
}

void check_sum(const AlignedBytes& bytes, const std::vector<std::vector<float>>& samples,
               RecoveryMask recover) {
  const Model fp32 = *Model::open(bytes.view());
  CalibratorOptions options;
  options.recover = recover;
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

TEST_CASE("errors of single layers add up to about that of the int8 model") {
  check_sum(small_cnn(), small_cnn_samples(8), recovery::kNone);
}

TEST_CASE("so do those of a model whose channels have scales of their own") {
  std::vector<std::vector<float>> samples;
  for (uint32_t seed = 0; seed < 8; ++seed) samples.push_back(Random(seed).reals(144, -1.0f, 1.0f));
  check_sum(unlike_channels(), samples, recovery::kDepthwiseScales);
}

}  // namespace intaglio::test::float_layers_test
