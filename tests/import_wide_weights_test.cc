// Weights that int8 lacks once their zero point is taken off. Scales are powers of two and biases 0, so that the same network
// with FP32 weights computes what the file says without a rounding.
#include "importers/wide_weights.h"

#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_wide_weights_test {
namespace {

struct Layer {
  const char* name;
  const char* op;
  std::vector<int64_t> in, weights;
  int64_t groups;
  int32_t axis;  // of the output channels
};

const Layer kLayers[] = {
    {"convolution", "Conv", {1, 5, 6, 6}, {7, 5, 3, 3}, 1, 0},
    {"of one place", "Conv", {1, 9, 4, 4}, {6, 9, 1, 1}, 1, 0},
    {"in groups", "Conv", {1, 6, 5, 5}, {4, 3, 3, 3}, 2, 0},
    {"depthwise", "Conv", {1, 6, 6, 6}, {6, 1, 3, 3}, 6, 0},
    {"depthwise, two of each", "Conv", {1, 3, 6, 6}, {6, 1, 3, 3}, 3, 0},
    {"a line", "Conv", {1, 4, 12}, {5, 4, 3}, 1, 0},
    {"transposed", "ConvTranspose", {1, 4, 4, 4}, {4, 5, 3, 3}, 1, 1},
    {"transposed, depthwise", "ConvTranspose", {1, 4, 4, 4}, {4, 1, 3, 3}, 4, 0},
    {"product", "MatMul", {1, 20}, {20, 6}, 1, 1},
};

int64_t count_of(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

struct Weights {
  std::vector<int32_t> codes, zero_points;  // one, or one a channel
};

// `as_codes`: the weights are codes, and FP32 else. A second layer of one place behind the first one reads its codes.
std::string network(const Layer& layer, const Weights& first, const Weights& second, bool as_codes) {
  OnnxBuilder file(17);
  file.input("x", layer.in);
  scale(file, "s", 0.5f, Type::UINT8, 128);
  scale(file, "t", 8.0f, Type::UINT8, 120);
  quantize(file, "x", "s", "xd");
  const auto put = [&](const std::string& name, const std::vector<int64_t>& dims, int32_t axis,
                       const Weights& weights) {
    const auto channels = static_cast<int64_t>(weights.zero_points.size());
    const std::vector<int64_t> one = channels == 1 ? std::vector<int64_t>() : std::vector<int64_t>{channels};
    const auto scale_of = [](int64_t c) { return std::ldexp(1.0f, -3 - static_cast<int>(c % 3)); };
    if (as_codes) {
      std::vector<float> scales;
      for (int64_t c = 0; c < channels; ++c) scales.push_back(scale_of(c));
      codes(file, name + "_codes", dims, Type::UINT8, weights.codes);
      file.floats(name + "_s", one, scales);
      codes(file, name + "_z", one, Type::UINT8, weights.zero_points);
      set(file.node("DequantizeLinear", {name + "_codes", name + "_s", name + "_z"}, name), "axis",
          int64_t{axis});
      return;
    }
    int64_t behind = 1;
    for (size_t d = static_cast<size_t>(axis) + 1; d < dims.size(); ++d) behind *= dims[d];
    std::vector<float> reals;
    for (size_t i = 0; i < weights.codes.size(); ++i) {
      const int64_t c = static_cast<int64_t>(i) / behind % channels;
      reals.push_back(scale_of(c) *
                      static_cast<float>(weights.codes[i] - weights.zero_points[static_cast<size_t>(c)]));
    }
    file.floats(name, dims, reals);
  };
  put("w", layer.weights, layer.axis, first);
  auto& node = file.node(layer.op, {"xd", "w"}, "c");
  if (std::string(layer.op) != "MatMul") set(node, "group", layer.groups);
  quantize(file, "c", "t", "cd");
  if (second.codes.empty()) return file.output("cd").bytes();
  put("v", {4, layer.weights[0], 1, 1}, 0, second);
  file.node("Conv", {"cd", "v"}, "y");
  return file.output("y").bytes();
}

Weights random_weights(Random& random, int64_t count, std::vector<int32_t> zero_points) {
  Weights weights{{}, std::move(zero_points)};
  for (int64_t i = 0; i < count; ++i)  // few are at the ends
    weights.codes.push_back(random.between(0, 3) == 0 ? random.between(0, 255) : random.between(60, 190));
  return weights;
}

std::vector<float> random_input(Random& random, const Layer& layer) {
  std::vector<float> x;
  for (int64_t i = 0; i < count_of(layer.in); ++i)
    x.push_back(0.5f * static_cast<float>(random.between(-128, 127)));
  return x;
}

void check_layers(Import& import) {
  for (const GraphNode& node : import.graph().nodes) {
    const bool is_layer =
        node.op == Op::kConv2d || node.op == Op::kDepthwiseConv2d || node.op == Op::kFullyConnected;
    if (is_layer) CHECK(import.tensor(node.inputs[1]).dtype == DType::kS8);
  }
}

}  // namespace

TEST_CASE(
    "weights beyond int8 without their zero point: each kind of layer gives the sums of the file's numbers") {
  Random random(54);
  for (const Layer& layer : kLayers)
    for (const int32_t zero_point : {0, 3, 120, 127, 128, 129, 200, 255, -1}) {
      CAPTURE(layer.name);
      CAPTURE(zero_point);
      std::vector<int32_t> zero_points{zero_point};
      if (zero_point < 0) {  // one a channel
        zero_points.clear();
        const int64_t channels = layer.weights[static_cast<size_t>(layer.axis)];
        for (int64_t c = 0; c < channels; ++c) zero_points.push_back(random.between(0, 255));
      }
      const Weights weights = random_weights(random, count_of(layer.weights), zero_points);
      Import import(network(layer, weights, {}, true));
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK_FALSE(import.notes("stay in FP32"));
      check_layers(import);
      const std::vector<float> x = random_input(random, layer);
      CHECK(run_import<float>(import, x) == run_file(network(layer, weights, {}, false), x));
    }
}

TEST_CASE("a convolution behind a depthwise layer reads its wide channels from their own tensor") {
  Random random(55);
  const Layer& layer = kLayers[3];
  for (int32_t zero_point = 90; zero_point <= 170; zero_point += 8) {
    CAPTURE(zero_point);
    const Weights first = random_weights(random, count_of(layer.weights), {zero_point}),
                  second = random_weights(random, 4 * 6, {256 - zero_point});
    Import import(network(layer, first, second, true));
    REQUIRE_MESSAGE(import.good(), import.message());
    check_layers(import);
    int32_t lists_of_all = 0;
    for (const GraphNode& node : import.graph().nodes)
      lists_of_all += node.op == Op::kGather && import.tensor(node.outputs[0]).shape.back(0) == 6;
    CHECK(lists_of_all <= 1);  // no Gather puts channels in order
    const std::vector<float> x = random_input(random, layer);
    CHECK(run_import<float>(import, x) == run_file(network(layer, first, second, false), x));
  }
}

TEST_CASE("what is said of weights beyond int8 counts layers and channels") {
  const Layer layer{"", "Conv", {1, 2, 1, 1}, {2, 2, 1, 1}, 1, 0};
  Import none(network(layer, {{1, 200, 3, 250}, {125}}, {}, true));
  CHECK_FALSE(none.notes("beyond int8"));
  Import one(network(layer, {{1, 200, 3, 253}, {125}}, {}, true));
  CHECK(one.notes(
      "weights less their zero point are beyond int8 in 1 layer: 1 input channels are read twice, and 0 channels of "
      "depthwise layers are convolutions beside them; the sums are exact"));
}

TEST_CASE("an FP32 layer is split for codes of its scale, and gives what it gave") {
  Random random(56);
  for (const bool is_depthwise : {false, true}) {
    CAPTURE(is_depthwise);
    const int64_t channels = 4, depth = is_depthwise ? 1 : channels;
    OnnxBuilder file;
    file.input("x", {1, channels, 5, 5});
    const std::vector<float> w = random.reals(static_cast<int>(channels * depth * 9), -1.3f, 1.3f);
    file.floats("w", {channels, depth, 3, 3}, w);
    set(file.node("Conv", {"x", "w"}, "y"), "group", channels / depth);
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    const std::vector<float> x = random.reals(static_cast<int>(channels) * 25, -1, 1);
    const std::vector<float> before = run_import<float>(import, x);
    int32_t layer = 0;
    while (import.graph().nodes[static_cast<size_t>(layer)].op == Op::kTranspose) ++layer;
    const TensorInfo& weights = import.tensor(import.graph().nodes[static_cast<size_t>(layer)].inputs[1]);
    WideLayer wide{layer, {}, {0.01f}};
    for (int64_t i = 0; i < weights.shape.elements(); ++i)
      wide.codes.push_back(static_cast<int32_t>(
          std::nearbyint(reinterpret_cast<const float*>(weights.constant.data)[i] / 0.01f)));
    const SplitWeights split = split_wide_weights(import.graph(), import.memory.arena(), {wide});
    CHECK(split.note.find("beyond int8 in 1 layer") != std::string::npos);
    for (const GraphNode& node : import.graph().nodes) {
      if (node.op != Op::kConv2d && node.op != Op::kDepthwiseConv2d) continue;
      const TensorInfo& made = import.tensor(node.inputs[1]);
      for (int64_t i = 0; i < made.shape.elements(); ++i)
        CHECK(std::fabs(reinterpret_cast<const float*>(made.constant.data)[i]) <= 1.2851f);
    }
    const std::vector<float> after = run_import<float>(import, x);
    REQUIRE(after.size() == before.size());
    for (size_t i = 0; i < after.size(); ++i) CHECK(after[i] == doctest::Approx(before[i]).epsilon(1e-5));
  }
}

}  // namespace intaglio::test::import_wide_weights_test
