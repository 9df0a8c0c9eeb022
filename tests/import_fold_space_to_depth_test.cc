// Pixels that slices or SpaceToDepth lay out as channels stand in the window of the convolution behind them.
#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_fold_space_to_depth_test {
namespace {

constexpr int64_t kChannels = 3, kHeight = 8, kWidth = 12, kOutputs = 5;

struct Layer {
  int64_t side = 3, stride = 1, pad = 1;
};

// Behind `d`, [1, 12, 4, 6]; `d` is an output as well where it must stay.
void add_layer(OnnxBuilder& file, const Layer& layer, const std::string& weights) {
  auto& conv = file.node("Conv", {"d", weights}, "y");
  set(conv, "strides", std::vector<int64_t>{layer.stride, layer.stride});
  set(conv, "pads", std::vector<int64_t>(4, layer.pad));
  file.output("y");
}

std::vector<float> random_weights(const Layer& layer) {
  Random random(7);
  return random.reals(static_cast<size_t>(kOutputs * 4 * kChannels * layer.side * layer.side), -1.0f, 1.0f);
}

void add_float_layer(OnnxBuilder& file, const Layer& layer) {
  file.floats("w", {kOutputs, 4 * kChannels, layer.side, layer.side}, random_weights(layer));
  add_layer(file, layer, "w");
}

// x[:, :, row::2, column::2] in one step, or height and width one after the other, as PyTorch's exporter writes it.
std::string add_part(OnnxBuilder& file, const std::string& x, int64_t row, int64_t column, bool at_once) {
  const std::string name = x + std::to_string(row) + std::to_string(column);
  const auto slice = [&](const std::string& from, std::vector<int64_t> starts, std::vector<int64_t> axes,
                         const std::string& to) {
    file.integers(to + "_b", starts);
    file.integers(to + "_e", std::vector<int64_t>(starts.size(), 1000));
    file.integers(to + "_a", axes);
    file.integers(to + "_s", std::vector<int64_t>(starts.size(), 2));
    file.node("Slice", {from, to + "_b", to + "_e", to + "_a", to + "_s"}, to);
  };
  if (at_once) {
    slice(x, {row, column}, {2, 3}, name);
  } else {
    slice(x, {row}, {2}, name + "h");
    slice(name + "h", {column}, {3}, name);
  }
  return name;
}

void add_focus(OnnxBuilder& file, const std::string& x, bool at_once, bool first_again = false) {
  std::vector<std::string> names;
  for (const auto& [row, column] : {std::pair<int, int>{0, 0}, {1, 0}, {0, 1}, {1, 1}})
    names.push_back(add_part(file, x, row, column, at_once));
  if (first_again) names[3] = names[0];
  set(file.node("Concat", names, "d"), "axis", int64_t{1});
}

void add_turned(OnnxBuilder& file, const std::vector<int64_t>& apart, const std::vector<int64_t>& order) {
  file.integers("apart", apart);
  file.node("Reshape", {"x", "apart"}, "a");
  set(file.node("Transpose", {"a"}, "t"), "perm", order);
  file.integers("whole", {1, 4 * kChannels, kHeight / 2, kWidth / 2});
  file.node("Reshape", {"t", "whole"}, "d");
}

const std::vector<float>& picture() {
  static const std::vector<float> x = [] {
    Random random(3);
    return random.reals(static_cast<size_t>(kChannels * kHeight * kWidth), -1.0f, 1.0f);
  }();
  return x;
}

// By the definition; `place(part, c)` is the channel of `d` that holds channel c of pixel (part / 2, part % 2).
template <typename Place>
std::vector<double> expected(const Layer& layer, Place place) {
  const std::vector<float> w = random_weights(layer);
  const std::vector<float>& x = picture();
  const int64_t h = kHeight / 2, width = kWidth / 2;
  const int64_t oh = (h + 2 * layer.pad - layer.side) / layer.stride + 1,
                ow = (width + 2 * layer.pad - layer.side) / layer.stride + 1;
  std::vector<double> y;
  for (int64_t o = 0; o < kOutputs; ++o)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j) {
        double sum = 0;
        for (int64_t part = 0; part < 4; ++part)
          for (int64_t c = 0; c < kChannels; ++c)
            for (int64_t ky = 0; ky < layer.side; ++ky)
              for (int64_t kx = 0; kx < layer.side; ++kx) {
                const int64_t row = i * layer.stride - layer.pad + ky,
                              column = j * layer.stride - layer.pad + kx;
                if (row < 0 || row >= h || column < 0 || column >= width) continue;
                const auto of_w = ((o * 4 * kChannels + place(part, c)) * layer.side + ky) * layer.side + kx;
                const auto of_x =
                    ((2 * row + part / 2) * kWidth + 2 * column + part % 2) * kChannels + c;  // NHWC
                sum += double{w[static_cast<size_t>(of_w)]} * double{x[static_cast<size_t>(of_x)]};
              }
        y.push_back(sum);
      }
  return y;
}

void check_values(Import& import, const std::vector<double>& values) {
  REQUIRE_MESSAGE(import.good(), import.message());
  const std::vector<float> y = run_import<float>(import, picture());
  REQUIRE(y.size() == values.size());
  const bool is_nchw = import.dims(import.output())[1] == kOutputs;
  const size_t places = y.size() / kOutputs;
  for (size_t o = 0; o < kOutputs; ++o)
    for (size_t i = 0; i < places; ++i)
      CHECK(double{y[is_nchw ? o * places + i : i * kOutputs + o]} ==
            doctest::Approx(values[o * places + i]).epsilon(1e-4));
}

bool is_folded(Import& import) {
  return import.count(Op::kConcat) == 0 && import.count(Op::kStridedSlice) == 0 &&
         import.count(Op::kTranspose) <= 1;  // of the answer
}

constexpr Layer kLayers[] = {{3, 1, 1}, {1, 1, 0}, {3, 2, 1}, {2, 1, 0}};

}  // namespace

TEST_CASE("a focus in front of a convolution is a window of twice the side") {
  for (const bool at_once : {true, false})
    for (const Layer& layer : kLayers) {
      CAPTURE(layer.side);
      OnnxBuilder file;
      file.input("x", {1, kChannels, kHeight, kWidth});
      add_focus(file, "x", at_once);
      add_float_layer(file, layer);
      Import import(file.bytes());
      check_values(import, expected(layer, [](int64_t part, int64_t c) {
                     return (part / 2 + part % 2 * 2) * kChannels + c;
                   }));
      CHECK(is_folded(import));
      const auto& window = import.node(Op::kConv2d).options.as<Window2d>();
      CHECK(window.kernel_h == 2 * layer.side);
      CHECK(window.stride_w == 2 * layer.stride);
      CHECK(window.pad_top == 2 * layer.pad);
      CHECK(window.pad_right == 2 * layer.pad);
    }
}

TEST_CASE("so is SpaceToDepth, by name or by Reshape and Transpose") {
  const Layer layer;
  const auto rows_first = [](int64_t part, int64_t c) { return part * kChannels + c; };
  const auto channels_first = [](int64_t part, int64_t c) { return c * 4 + part; };
  {
    OnnxBuilder file;
    file.input("x", {1, kChannels, kHeight, kWidth});
    set(file.node("SpaceToDepth", {"x"}, "d"), "blocksize", int64_t{2});
    add_float_layer(file, layer);
    Import import(file.bytes());
    check_values(import, expected(layer, rows_first));
    CHECK(is_folded(import));
  }
  for (const bool by_channels : {false, true}) {
    OnnxBuilder file;
    file.input("picture", {1, kChannels, kHeight, kWidth});
    file.floats("same", {kChannels, kChannels, 1, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
    file.node("Conv", {"picture", "same"}, "x");  // a layer has its channels last
    add_turned(file, {1, kChannels, kHeight / 2, 2, kWidth / 2, 2},
               by_channels ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
    add_float_layer(file, layer);
    Import import(file.bytes());
    if (by_channels)
      check_values(import, expected(layer, channels_first));
    else
      check_values(import, expected(layer, rows_first));
    CHECK(is_folded(import));
  }
}

TEST_CASE("what is not all of each block, or what others read, stays") {
  const Layer layer;
  {
    OnnxBuilder file;  // one part twice
    file.input("x", {1, kChannels, kHeight, kWidth});
    add_focus(file, "x", true, true);
    add_float_layer(file, layer);
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kConcat) == 1);
  }
  {
    OnnxBuilder file;  // a row that is left over would stand where the layer has padding
    file.input("x", {1, kChannels, kHeight + 1, kWidth});
    file.integers("b", {0});
    file.integers("e", {kHeight});
    file.integers("a", {2});
    file.node("Slice", {"x", "b", "e", "a"}, "even");
    add_focus(file, "even", true);
    add_float_layer(file, layer);
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kConcat) == 1);
  }
  {
    OnnxBuilder file;
    file.input("x", {1, kChannels, kHeight, kWidth});
    add_focus(file, "x", true);
    add_float_layer(file, layer);
    file.output("d");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kConcat) == 1);
  }
}

TEST_CASE("of a quantized file the codes stay as they are") {
  Random random(9);
  std::vector<int32_t> weights;
  for (int64_t i = 0; i < kOutputs * 4 * kChannels * 9; ++i) weights.push_back(random.between(-127, 127));
  const auto network = [&](bool stays) {
    OnnxBuilder file(13);
    file.input("x", {1, kChannels, kHeight, kWidth});
    scale(file, "s", 0.01f, Type::UINT8, 131);
    scale(file, "t", 0.5f, Type::UINT8, 120);
    quantize(file, "x", "s", "in");
    std::vector<std::string> parts;
    for (const auto& [row, column] : {std::pair<int, int>{0, 0}, {1, 0}, {0, 1}, {1, 1}}) {
      const std::string part = add_part(file, "in", row, column, true);
      quantize(file, part, "s", part + "q");
      parts.push_back(part + "q");
    }
    set(file.node("Concat", parts, "c"), "axis", int64_t{1});
    quantize(file, "c", "s", "d");
    file.floats("ws", {kOutputs}, {0.5f, 0.25f, 1.0f, 0.125f, 0.3f});
    codes(file, "ws0", {kOutputs}, Type::INT8, std::vector<int32_t>(kOutputs, 0));
    codes(file, "w", {kOutputs, 4 * kChannels, 3, 3}, Type::INT8, weights);
    set(file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf"), "axis", int64_t{0});
    auto& conv = file.node("Conv", {"d", "wf"}, "v");
    set(conv, "pads", std::vector<int64_t>(4, 1));
    quantize(file, "v", "t", "y");
    file.output("y");
    if (stays) file.output("d");
    return file.bytes();
  };
  Import folded(network(false)), kept(network(true));
  REQUIRE_MESSAGE(folded.good(), folded.message());
  CHECK(is_folded(folded));
  CHECK(kept.count(Op::kConcat) == 1);
  CHECK(folded.tensor(folded.node(Op::kConv2d).inputs[0]).dtype == DType::kS8);
  CHECK(run_import<float>(folded, picture()) == run_import<float>(kept, picture()));
}

}  // namespace intaglio::test::import_fold_space_to_depth_test
