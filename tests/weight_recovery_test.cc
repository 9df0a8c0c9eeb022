// Recoveries of weights against their definitions: moments as sums over the layer's real inputs, errors as
// those of its output, scales and roundings against all that there are.
#include <doctest/doctest.h>

#include <cmath>

#include "calibrator/host/system/host_arena.h"
#include "calibrator/quantization/scales.h"
#include "calibrator/recover/weights/weight_recoveries.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio::test::weight_recovery_test {
namespace {

enum class Kind { kConv, kGrouped, kDepthwise, kFullyConnected };
constexpr Kind kKinds[] = {Kind::kConv, Kind::kGrouped, Kind::kDepthwise, Kind::kFullyConnected};
constexpr float kInScale = 0.0625f;
constexpr int32_t kZeroPoint = -9;

QuantConfig weight_form() {
  QuantConfig form;
  form.policy = policy::kPerChannel | policy::kLinear | policy::kSymmetric;
  form.lo = -127;
  return form;
}

// One int8 layer of each kind, with inputs that move together, as real ones do.
struct Layer {
  explicit Layer(Kind kind, uint32_t seed = 1, int32_t samples = 3) : random(seed) {
    OneNode one;
    const bool flat = kind == Kind::kFullyConnected;
    const Dims in = flat ? Dims{3, 11} : Dims{1, 7, 6, kind == Kind::kGrouped ? 4 : 3};
    const Dims out = flat ? Dims{3, 5} : Dims{1, 4, 3, 6};
    const Dims w = flat                       ? Dims{5, 11}
                   : kind == Kind::kDepthwise ? Dims{3, 3, 6}
                   : kind == Kind::kGrouped   ? Dims{6, 3, 3, 2}
                                              : Dims{6, 3, 3, 3};
    const size_t outputs = flat ? 5 : 6;
    reals = random.reals(elements(w), -1.0f, 1.0f);
    for (size_t i = 0; i < reals.size(); i += 5) reals[i] *= 3.0f;
    const int32_t axis = kind == Kind::kDepthwise ? 2 : 0;
    HostArena memory;
    Shape shape{w.data(), static_cast<int32_t>(w.size())};
    std::vector<float> bias_reals = random.reals(outputs, -2.0f, 2.0f);
    const QuantizedWeights q = quantize_weights(
        {{reals.data(), reals.size()}, shape, axis, {bias_reals.data(), outputs}, kInScale, weight_form()},
        memory.arena());
    codes.assign(q.codes.begin(), q.codes.end());
    scales.assign(q.scales.begin(), q.scales.end());
    bias.assign(q.bias.begin(), q.bias.end());
    const int32_t x = one.s8(in, kInScale, kZeroPoint);
    const int32_t weights = one.b.constant("w", DType::kS8, w, codes, scales, axis);
    const int32_t b = one.b.constant("b", DType::kS32, {static_cast<int32_t>(outputs)}, bias);
    const int32_t y = one.s8(out, 0.5f, 3);
    NodeOptions& options =
        one.node(flat ? Op::kFullyConnected : (kind == Kind::kDepthwise ? Op::kDepthwiseConv2d : Op::kConv2d),
                 {x, weights, b}, y);
    if (!flat) {
      options.as<Window2d>() = {3, 3, 2, 2, 1, 1, 1, 1, 1, 1};
      if (kind == Kind::kGrouped) options.as<Conv2dOptions>().groups = 2;
    }
    running = std::make_unique<RunningModel>(one.b.finish());
    REQUIRE_MESSAGE(running->error().ok(), text_of(running->error()));
    matrix = layer_matrix(running->model(), running->model().node(0));
    for (int32_t s = 0; s < samples; ++s) {
      std::vector<int8_t> sample(elements(in));
      const int32_t level = random.between(-60, 60);
      for (int8_t& code : sample) code = static_cast<int8_t>(level + random.between(-40, 40));
      inputs.push_back(sample);
    }
  }

  LayerMoments moments(Arena& arena, const Executor& executor = {}, double damping = 0.0) {
    LayerMoments m = make_moments(matrix, arena);
    const Span<int16_t> scratch = make_moment_scratch(matrix, executor.width, arena);
    for (const auto& sample : inputs) {
      running->set_input(sample);
      add_moments(m, running->session(), 0, executor, scratch);
    }
    finish_moments(m, damping);
    return m;
  }
  LayerWeights weights() {
    return {matrix,
            {reals.data(), reals.size()},
            {codes.data(), codes.size()},
            {scales.data(), scales.size()},
            {bias.data(), bias.size()},
            127};
  }
  double real_weight(int32_t output, int32_t k) const { return at(output, k, reals); }
  double code(int32_t output, int32_t k) const { return at(output, k, codes); }
  template <typename T>
  double at(int32_t output, int32_t k, const std::vector<T>& of) const {
    return static_cast<double>(of[matrix.first(output) + static_cast<size_t>(k) * matrix.stride]);
  }

  // Every output's sums over all positions, by the patches themselves: mean and variance of (codes * scale -
  // reals) * inputs, summed over the outputs.
  struct Direct {
    double variance = 0.0, mean_output = 0.0;
  };
  Direct direct() {
    Direct sum;
    const int64_t positions = layer_positions(running->model(), running->model().node(0));
    std::vector<int16_t> columns(static_cast<size_t>(matrix.depth()) * static_cast<size_t>(positions));
    for (int32_t c = 0; c < matrix.outputs(); ++c) {
      double first = 0, second = 0, whole = 0, count = 0;
      for (const auto& sample : inputs) {
        running->set_input(sample);
        copy_patches(running->session(), running->model().node(0), matrix, c / matrix.rows, 0,
                     static_cast<int32_t>(positions), columns.data());
        for (int64_t p = 0; p < positions; ++p) {
          double error = 0, y = 0;
          for (int32_t k = 0; k < matrix.depth(); ++k) {
            const double u = columns[static_cast<size_t>(k * positions + p)];
            const double real = code(c, k) * static_cast<double>(scales[static_cast<size_t>(c)]);
            error += (real - real_weight(c, k)) * u;
            y += real * u;
          }
          first += error;
          second += error * error;
          whole += y;
          count += 1;
        }
      }
      sum.variance += second / count - (first / count) * (first / count);
      sum.mean_output +=
          whole / count + bias[static_cast<size_t>(c)] * static_cast<double>(scales[static_cast<size_t>(c)]);
    }
    return sum;
  }

  Random random;
  std::vector<float> reals, scales;
  std::vector<int8_t> codes;
  std::vector<int32_t> bias;
  std::vector<std::vector<int8_t>> inputs;
  std::unique_ptr<RunningModel> running;
  LayerMatrix matrix;
};

using Recovery = LayerError (*)(LayerWeights& weights, const WeightWork& work);
const Recovery kRecoveries[] = {
    search_weight_scales,
    [](LayerWeights& w, const WeightWork& work) { return round_adaptively(w, work, 20); },
    [](LayerWeights& w, const WeightWork& work) { return learn_weight_scales(w, work, 20); },
};

LayerError recover(Layer& layer, Recovery recovery, const Executor& executor = {}) {
  HostArena memory;
  const LayerMoments moments = layer.moments(memory.arena(), executor);
  LayerWeights weights = layer.weights();
  const WeightWork work{&moments, executor,
                        make_weight_scratch(layer.matrix, executor.width, memory.arena())};
  return recovery(weights, work);
}

}  // namespace

TEST_CASE("patches give the layer's own products") {
  // The int8 layer's outputs, computed from patches in exact integers.
  for (const Kind kind : kKinds) {
    CAPTURE(static_cast<int>(kind));
    Layer layer(kind, 5, 1);
    layer.running->set_input(layer.inputs[0]);
    const NodeInfo node = layer.running->model().node(0);
    const int64_t positions = layer_positions(layer.running->model(), node);
    std::vector<std::vector<int16_t>> columns;
    for (int32_t g = 0; g < layer.matrix.groups; ++g) {
      columns.emplace_back(static_cast<size_t>(layer.matrix.depth()) * static_cast<size_t>(positions));
      copy_patches(layer.running->session(), node, layer.matrix, g, 0, static_cast<int32_t>(positions),
                   columns.back().data());
    }
    layer.running->session().run();
    const std::vector<int8_t> got = layer.running->output<int8_t>();
    for (int64_t p = 0; p < positions; ++p)
      for (int32_t c = 0; c < layer.matrix.outputs(); ++c) {
        int32_t sum = layer.bias[static_cast<size_t>(c)];
        for (int32_t k = 0; k < layer.matrix.depth(); ++k)
          sum += static_cast<int32_t>(layer.code(c, k)) *
                 columns[static_cast<size_t>(c / layer.matrix.rows)][static_cast<size_t>(k * positions + p)];
        const float scale = kInScale * layer.scales[static_cast<size_t>(c)] / 0.5f;
        const double real = std::nearbyint(static_cast<double>(static_cast<float>(sum) * scale)) + 3;
        const double expected = std::fmin(std::fmax(real, -128.0), 127.0);
        REQUIRE(got[static_cast<size_t>(p * layer.matrix.outputs() + c)] == expected);
      }
  }
}

TEST_CASE("the quadratic form is the variance of the layer's error") {
  for (const Kind kind : kKinds) {
    CAPTURE(static_cast<int>(kind));
    Layer layer(kind);
    const double direct = layer.direct().variance;
    const LayerError nothing = recover(layer, [](LayerWeights& w, const WeightWork& work) {
      return change_rows(w, work, [](WeightRow&) {});
    });
    CHECK(nothing.before == doctest::Approx(direct).epsilon(1e-9));
    CHECK(nothing.after == nothing.before);
  }
}

TEST_CASE("a recovery lessens the error that it says, keeps each mean, and says both truly") {
  for (const Kind kind : kKinds)
    for (const Recovery recovery : kRecoveries) {
      CAPTURE(static_cast<int>(kind));
      Layer layer(kind);
      const Layer::Direct before = layer.direct();
      const LayerError error = recover(layer, recovery);
      const Layer::Direct after = layer.direct();
      CHECK(error.before == doctest::Approx(before.variance).epsilon(1e-9));
      CHECK(error.after == doctest::Approx(after.variance).epsilon(1e-6));
      CHECK(error.after < error.before);
      // A bias code is a step of its scale: half of one for each output at most.
      double most = 0;
      for (const float scale : layer.scales) most += 0.51 * static_cast<double>(scale);
      CHECK(std::fabs(after.mean_output - before.mean_output) < most);
      for (const int8_t code : layer.codes) CHECK(code >= -127);
    }
}

TEST_CASE("scale search takes the best of its factors for every channel") {
  CHECK(scale_factor(0) == 1.0);
  for (const Kind kind : kKinds) {
    CAPTURE(static_cast<int>(kind));
    double least = 0, unchanged = 0;
    {
      // Each channel by itself, at each factor, by the definition.
      Layer trial(kind);
      const std::vector<float> scales = trial.scales;
      const std::vector<int8_t> codes = trial.codes;
      unchanged = trial.direct().variance;
      for (int32_t c = 0; c < trial.matrix.outputs(); ++c) {
        double best = unchanged;
        for (int32_t f = 0; f < kScaleFactors; ++f) {
          trial.scales = scales;
          trial.codes = codes;
          const auto at = static_cast<size_t>(c);
          trial.scales[at] = static_cast<float>(static_cast<double>(scales[at]) * scale_factor(f));
          for (int32_t k = 0; k < trial.matrix.depth(); ++k) {
            const double v = std::nearbyint(trial.real_weight(c, k) / static_cast<double>(trial.scales[at]));
            trial.codes[trial.matrix.first(c) + static_cast<size_t>(k) * trial.matrix.stride] =
                static_cast<int8_t>(std::fmin(std::fmax(v, -127.0), 127.0));
          }
          best = std::fmin(best, trial.direct().variance);
        }
        least += best - unchanged;
      }
    }
    Layer layer(kind);
    const LayerError error = recover(layer, search_weight_scales);
    CHECK(error.after - error.before == doctest::Approx(least).epsilon(1e-6));
  }
}

TEST_CASE("adaptive rounding: each code is floor or ceiling, no single change helps, and little is left") {
  // Depthwise rows of nine weights: all 512 roundings are tried.
  Layer layer(Kind::kDepthwise, 3);
  recover(layer, kRecoveries[1]);
  const std::vector<int8_t> found = layer.codes;
  double reached = 0, possible = 0, nearest = 0;
  for (int32_t c = 0; c < layer.matrix.outputs(); ++c) {
    const double scale = static_cast<double>(layer.scales[static_cast<size_t>(c)]);
    const auto set = [&](int32_t k, double code) {
      layer.codes[layer.matrix.first(c) + static_cast<size_t>(k) * layer.matrix.stride] =
          static_cast<int8_t>(std::fmin(std::fmax(code, -127.0), 127.0));
    };
    layer.codes = found;
    for (int32_t k = 0; k < layer.matrix.depth(); ++k) {
      const double exact = layer.real_weight(c, k) / scale;
      const double code = layer.code(c, k);
      CHECK(std::fabs(code - exact) <= 1.0 + 1e-6);
    }
    const double mine = layer.direct().variance;
    double best = mine, rounded = 0;
    for (int32_t bits = 0; bits < 512; ++bits) {
      for (int32_t k = 0; k < 9; ++k) set(k, std::floor(layer.real_weight(c, k) / scale) + ((bits >> k) & 1));
      best = std::fmin(best, layer.direct().variance);
    }
    for (int32_t k = 0; k < 9; ++k) set(k, std::nearbyint(layer.real_weight(c, k) / scale));
    rounded = layer.direct().variance;
    reached += rounded - mine;
    possible += rounded - best;
    nearest += rounded;
    layer.codes = found;
    for (int32_t k = 0; k < 9; ++k) {
      const double code = layer.code(c, k), low = std::floor(layer.real_weight(c, k) / scale);
      set(k, code == low ? low + 1 : low);
      CHECK(layer.direct().variance >= mine * (1 - 1e-9));
      set(k, code);
    }
  }
  CHECK(reached > 0.5 * possible);
  CHECK(nearest > 0);
}

TEST_CASE("the same bytes with any number of threads and in any order of the samples") {
  for (const Kind kind : kKinds)
    for (const Recovery recovery : kRecoveries) {
      Layer first(kind, 8);
      const LayerError error = recover(first, recovery);
      for (const int32_t width : {2, 5}) {
        Layer other(kind, 8);
        std::swap(other.inputs[0], other.inputs[2]);
        const LayerError again = recover(other, recovery, {nullptr, width, run_backwards});
        CHECK(other.codes == first.codes);
        CHECK(other.bias == first.bias);
        CHECK(memcmp(other.scales.data(), first.scales.data(), first.scales.size() * sizeof(float)) == 0);
        CHECK(memcmp(&again, &error, sizeof error) == 0);
      }
    }
}

TEST_CASE("no more memory than it says") {
  for (const Kind kind : kKinds) {
    Layer layer(kind);
    for (const int32_t width : {1, 4}) {
      std::vector<uint8_t> block(moment_bytes(layer.matrix, width) +
                                 weight_scratch_bytes(layer.matrix, width));
      Arena arena(Span<uint8_t>{block.data(), block.size()});
      make_moments(layer.matrix, arena);
      make_moment_scratch(layer.matrix, width, arena);
      make_weight_scratch(layer.matrix, width, arena);
      CHECK(!arena.exhausted());
    }
  }
}

TEST_CASE("a row whose accumulator could overflow stays as it was") {
  Layer layer(Kind::kFullyConnected);
  layer.bias.assign(5, INT32_MAX - 255 * 127 * 11);
  const std::vector<int8_t> codes = layer.codes;
  const std::vector<int32_t> bias = layer.bias;
  // Half the scale needs twice the bias code.
  recover(layer, [](LayerWeights& w, const WeightWork& work) {
    return change_rows(w, work, [](WeightRow& row) {
      row.scale *= 0.5;
      for (int32_t k = 0; k < row.depth; ++k) row.codes[k] = row.reals[k] / row.scale > 0 ? 127 : -127;
    });
  });
  CHECK(layer.codes == codes);
  CHECK(layer.bias == bias);
}

}  // namespace intaglio::test::weight_recovery_test
