// ONNX files with QuantizeLinear, DequantizeLinear and FakeQuantize: int8 models with the file's own scales.
#include <algorithm>
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_onnx_quantized_test {
namespace {

std::vector<float> run_one(const std::string& bytes, const std::vector<float>& x) {
  Import import(bytes);
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<float>(import, x);
}

}  // namespace

TEST_CASE("a matrix product between QuantizeLinear and DequantizeLinear is an int8 node") {
  for (const bool is_unsigned : {false, true}) {
    CAPTURE(is_unsigned);
    OnnxBuilder file(13);
    file.input("x", {1, 2});
    scale(file, "s", 0.5f, is_unsigned ? Type::UINT8 : Type::INT8, is_unsigned ? 138 : 10);
    scale(file, "t", 0.25f, Type::INT8, 0);
    file.floats("ws", {2}, {0.5f, 0.25f});
    codes(file, "ws0", {2}, Type::INT8, {0, 0});
    codes(file, "w", {2, 2}, Type::INT8, {1, 2, 3, -128});
    quantize(file, "x", "s", "a");
    set(file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf"), "axis", int64_t{0});
    file.floats("b", {2}, {1, -1});
    set(file.node("Gemm", {"a", "wf", "b"}, "g"), "transB", int64_t{1});
    file.node("Relu", {"g"}, "r");
    quantize(file, "r", "t", "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kFullyConnected, Op::kDequantize});
    CHECK(import.tensor(import.node(Op::kFullyConnected).inputs[0]).quantization.zero_point == 10);
    // [0.5 * 1 + 1 * 2 + 1, 0.75 * 1 - 32 * 2 - 1 below 0]
    CHECK(run_import<float>(import, std::vector<float>{1, 2}) == std::vector<float>{3.5f, 0});
  }
}

TEST_CASE("a product of two activations, or of one and exact matrices, between scales is int8") {
  for (const bool is_constant : {false, true}) {
    CAPTURE(is_constant);
    OnnxBuilder file(13);
    file.input("x", {2, 1, 2});
    scale(file, "s", 0.5f, Type::INT8, 1);
    scale(file, "t", 0.25f, Type::INT8, 2);
    scale(file, "u", 1.0f, Type::INT8, -3);
    quantize(file, "x", "s", "a");
    if (is_constant) {
      codes(file, "w", {2, 2, 1}, Type::INT8, {6, 10, 2, -2});
      file.node("DequantizeLinear", {"w", "t", "t0"}, "b");
    } else {
      file.input("w", {2, 2, 1});
      quantize(file, "w", "t", "b");
    }
    file.node("MatMul", {"a", "b"}, "p");
    quantize(file, "p", "u", "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    std::vector<Op> expected{Op::kQuantize, Op::kBatchMatMul, Op::kDequantize};
    if (!is_constant) expected.insert(expected.begin(), Op::kQuantize);
    CHECK(import.ops() == expected);
    RunningModel model(import.write());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
    model.set_input(std::vector<float>{1, 2, 3, 4});
    if (!is_constant) model.set_input(std::vector<float>{1, 2, 0, -1}, 1);
    model.session().run();
    CHECK(model.output<float>() == std::vector<float>{5, -4});  // 1 * 1 + 2 * 2, 3 * 0 - 4 * 1
  }
}

TEST_CASE("data that only moves stays in codes; another scale behind is a table") {
  OnnxBuilder file(13);
  file.input("x", {1, 4});
  scale(file, "s", 0.5f, Type::INT8, 0);
  scale(file, "t", 1.0f, Type::INT8, 3);
  file.integers("shape", {2, 2});
  quantize(file, "x", "s", "a");
  file.node("Reshape", {"a", "shape"}, "r");
  set(file.node("Transpose", {"r"}, "m"), "perm", std::vector<int64_t>{1, 0});
  quantize(file, "m", "t", "y");
  file.output("y");
  CHECK(run_one(file.bytes(), {1, 2, 3, 4}) == std::vector<float>{1, 3, 2, 4});
}

TEST_CASE("Add, Mul with a constant, Sigmoid and Concat between scales") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT8, 0);
  scale(file, "t", 1.0f, Type::INT8, 0);
  scale(file, "u", 1.0f / 256, Type::UINT8, 0);
  file.floats("two", {}, {2});
  quantize(file, "x", "s", "a");
  file.node("Mul", {"a", "two"}, "d");
  quantize(file, "d", "t", "e");
  file.node("Add", {"e", "a"}, "f");
  quantize(file, "f", "t", "g");
  file.node("Sigmoid", {"a"}, "h");
  quantize(file, "h", "u", "i");
  set(file.node("Concat", {"g", "i"}, "j"), "axis", int64_t{1});
  quantize(file, "j", "t", "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kDequantize) == 1);
  CHECK(run_import<float>(import, std::vector<float>{2, -10}) == std::vector<float>{6, -30, 1, 0});
}

// NNCF leaves it so after read_model(). A factor is the last code of a scale of its own: nothing of it is rounded.
TEST_CASE("batch normalization between quantizers is an int8 layer of one weight a channel") {
  constexpr int kChannels = 3, kSide = 16;
  const std::vector<float> factor{0.7f, -1.3f, 0.001f}, bias{0.3f, -2, 5}, mean{1, 0.5f, -3},
      variance{2, 0.25f, 1};
  OnnxBuilder file(13);
  file.input("x", {1, kChannels, 1, kSide});
  scale(file, "s", 0.125f, Type::INT8, 3);
  scale(file, "t", 0.1f, Type::INT8, -20);
  quantize(file, "x", "s", "a");
  for (const auto& [name, values] :
       {std::make_pair("factor", factor), {"bias", bias}, {"mean", mean}, {"variance", variance}})
    file.floats(name, {kChannels}, values);
  set(file.node("BatchNormalization", {"a", "factor", "bias", "mean", "variance"}, "b"), "epsilon", 0.0f);
  quantize(file, "b", "t", "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK_FALSE(import.notes("FP32"));
  CHECK(import.tensor(import.node(Op::kDepthwiseConv2d).inputs[1]).dtype == DType::kS8);
  std::vector<float> x;  // [w, c]
  for (int i = 0; i < kSide * kChannels; ++i) x.push_back(0.125f * static_cast<float>(i * 37 % 200 - 100));
  const std::vector<float> found = run_import<float>(import, x);
  for (size_t c = 0; c < kChannels; ++c)
    for (size_t i = 0; i < kSide; ++i) {
      const double real = (x[i * kChannels + c] - mean[c]) / std::sqrt(variance[c]) * factor[c] + bias[c];
      const double code = std::clamp(real / 0.1f - 20, -128.0, 127.0);
      // The bias is whole steps of both scales, at most 0.125 * 2.6 / 127: 0.013 of a code beside the half of rounding.
      CHECK(std::fabs(found[c * kSide + i] / 0.1f - 20 - code) < 0.52);
    }
}

TEST_CASE("FakeQuantize: activations and weights") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  for (const auto& [name, value] :
       {std::pair<const char*, float>{"low", -128}, {"high", 127}, {"wlow", -127}, {"whigh", 127}})
    file.floats(name, {1}, {value});
  file.floats("w", {1, 2}, {2, -3});
  const auto fake = [&](const std::string& x, const std::string& low, const std::string& high,
                        const std::string& y, int64_t levels) {
    auto& node = file.node("FakeQuantize", {x, low, high, low, high}, y);
    node.domain = "org.openvinotoolkit";
    set(node, "levels", levels);
  };
  fake("x", "low", "high", "a", 256);
  fake("w", "wlow", "whigh", "wf", 255);
  set(file.node("Gemm", {"a", "wf"}, "g"), "transB", int64_t{1});
  fake("g", "low", "high", "y", 256);
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kFullyConnected, Op::kDequantize});
  CHECK(run_import<float>(import, std::vector<float>{7, 20}) == std::vector<float>{-46});
}

TEST_CASE("FakeQuantize: fewer levels, and a dead channel among others") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  for (const auto& [name, value] : {std::pair<const char*, float>{"zero", 0},
                                    {"fifteen", 15},
                                    {"low", -128},
                                    {"high", 127},
                                    {"six", 6},
                                    {"least", -3}})
    file.floats(name, {1}, {value});
  file.floats("w", {3, 2}, {2, -3, 5, 7, -1, 4});
  file.floats("wlow", {3, 1}, {-8, 0, -4});
  file.floats("whigh", {3, 1}, {7, 0, 3.5f});
  const auto fake = [&](const std::string& x, const std::string& low, const std::string& high,
                        const std::string& y, int64_t levels) {
    auto& node = file.node("FakeQuantize", {x, low, high, low, high}, y);
    node.domain = "org.openvinotoolkit";
    set(node, "levels", levels);
  };
  fake("x", "zero", "fifteen", "a", 16);
  fake("w", "wlow", "whigh", "wf", 16);
  set(file.node("Gemm", {"a", "wf"}, "g"), "transB", int64_t{1});
  fake("g", "least", "six", "y", 10);  // -3 to 6
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kFullyConnected) == 1);
  CHECK(import.tensor(import.node(Op::kFullyConnected).inputs[1]).dtype == DType::kS8);
  // 7 and 20 become 7 and 15, the weights 2, -3; 0, 0; -1, 3.5. The sums -31, 0, 45.5 saturate at -3 and 6.
  CHECK(run_import<float>(import, std::vector<float>{7, 20}) == std::vector<float>{-3, 0, 6});
  CHECK(run_import<float>(import, std::vector<float>{3, 1}) == std::vector<float>{3, 0, 0});  // 0.5 to even
  CHECK(run_import<float>(import, std::vector<float>{-9, 0.4f}) == std::vector<float>{0, 0, 0});
  for (const int64_t levels : {1, 65537}) {
    OnnxBuilder other(13);
    other.input("x", {1, 2});
    other.floats("low", {1}, {-1});
    other.floats("high", {1}, {1});
    auto& node = other.node("FakeQuantize", {"x", "low", "high", "low", "high"}, "y");
    node.domain = "org.openvinotoolkit";
    set(node, "levels", levels);
    other.output("y");
    CHECK(Import(other.bytes()).says(" levels are not supported; 2 to 65536 are"));
  }
}

TEST_CASE("FakeQuantize: more levels than 8 bits have, ranges without 0, and others for each channel") {
  const auto file_of = [](int64_t levels, const std::vector<std::vector<float>>& limits) {
    OnnxBuilder file(13);
    file.input("x", {1, 2});
    const char* const names[] = {"low", "high", "to_low", "to_high"};
    for (size_t i = 0; i < 4; ++i)
      file.floats(names[i], {1, static_cast<int64_t>(limits[i].size())}, limits[i]);
    auto& node = file.node("FakeQuantize", {"x", "low", "high", "to_low", "to_high"}, "y");
    node.domain = "org.openvinotoolkit";
    set(node, "levels", levels);
    return file.output("y").bytes();
  };
  using Reals = std::vector<float>;
  const auto run = [](const std::string& bytes, const Reals& x, bool has_codes) {
    Import import(bytes);
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK((import.count(Op::kQuantize) == 1) == has_codes);
    CHECK(import.notes("it is computed in FP32") == !has_codes);
    return run_import<float>(import, x);
  };
  // int16's own codes, and some of them; steps of 0.5 with half a step to even.
  const float most = 16383.5f, least = -16384.0f;
  CHECK(run(file_of(65536, {{least}, {most}, {least}, {most}}), {1.75f, -2.2f}, true) == Reals{2, -2});
  CHECK(run(file_of(65536, {{least}, {most}, {least}, {most}}), {1e6f, -1e6f}, true) == Reals{most, least});
  CHECK(run(file_of(1001, {{-200}, {300}, {-200}, {300}}), {1000, -1000}, true) == Reals{300, -200});
  // 0 lies in the middle of two of 300 values: these are moved, as those of 8 bits are, and the user is told.
  Import moved(file_of(300, {{-1}, {1}, {-1}, {1}}));
  REQUIRE_MESSAGE(moved.good(), moved.message());
  CHECK(moved.notes(
      "1 of 1 ranges of FakeQuantize do not have 0 among their values; they are moved by 0.5 of"));
  // More than int16 has above 0.
  CHECK(run(file_of(65536, {{0}, {32767.5f}, {0}, {32767.5f}}), {20000.2f, -3}, false) == Reals{20000, 0});
  // No 0 in the range.
  CHECK(run(file_of(256, {{1}, {256}, {1}, {256}}), {7.4f, -3}, false) == Reals{7, 1});
  // Others for each channel, one of which is dead.
  CHECK(run(file_of(5, {{0, 0}, {4, 0}, {10, 0}, {18, 0}}), {2.6f, 5}, false) == Reals{16, 0});
  // Steps that no scale has; 0 stays 0.
  const float huge = 1.27e38f;
  CHECK(run(file_of(255, {{-huge}, {huge}, {-huge}, {huge}}), {0, 1.5f}, false) == Reals{0, 0});
  // Exactly, also where a dead channel stands beside: one step of 0.7 more than -0.7f is not 0 in FP32.
  CHECK(run(file_of(15, {{-1, 0}, {13, 0}, {-0.7f, 0}, {13 * 0.7f, 0}}), {0, 5}, false) == Reals{0, 0});
  // A dead channel has one number; 0 to 0 that becomes 2 below and 0 above is no rounding.
  CHECK(run(file_of(5, {{0, 0}, {4, 0}, {1, 2}, {17, 2}}), {2.6f, 5}, false) == Reals{13, 2});
  CHECK(Import(file_of(5, {{0, 0}, {4, 0}, {1, 2}, {18, 0}})).says("its range 0 to 0 is empty"));
  CHECK(Import(file_of(300, {{1}, {1}, {1}, {1}})).says("its range 1 to 1 is empty"));
  CHECK(Import(file_of(65536, {{0}, {INFINITY}, {0}, {INFINITY}})).says("its range holds inf"));
}

TEST_CASE(
    "operators on codes become the same int8 nodes as those between QuantizeLinear and DequantizeLinear") {
  OnnxBuilder file(13);
  file.input("x", {1, 1, 2, 2});
  scale(file, "s", 0.5f, Type::UINT8, 128);
  scale(file, "t", 1.0f, Type::UINT8, 100);
  file.floats("ws", {2}, {0.5f, 0.25f});
  codes(file, "ws0", {2}, Type::INT8, {0, 0});
  codes(file, "w", {2, 1, 1, 1}, Type::INT8, {2, -4});
  codes(file, "b", {2}, Type::INT32, {4, 16});  // 0.5 * 0.5 * 4 = 1, 0.5 * 0.25 * 16 = 2
  file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
  file.node("QLinearConv", {"q", "s", "s0", "w", "ws", "ws0", "t", "t0", "b"}, "c");  // x + 1, 2 - x
  const auto microsoft = [&](const char* op, const std::vector<std::string>& inputs, const char* output) {
    auto& node = file.node(op, inputs, output);
    node.domain = "com.microsoft";
    return &node;
  };
  auto& pool = file.node("MaxPool", {"c"}, "m");  // on codes as they are
  set(pool, "kernel_shape", std::vector<int64_t>{1, 2});
  microsoft("QLinearAdd", {"m", "t", "t0", "m", "t", "t0", "t", "t0"}, "a");
  microsoft("QLinearGlobalAveragePool", {"a", "t", "t0", "s", "s0"}, "g");
  set(*microsoft("QLinearConcat", {"s", "s0", "g", "s", "s0", "g", "s", "s0"}, "j"), "axis", int64_t{1});
  file.node("DequantizeLinear", {"j", "s", "s0"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kQuantize) == 1);
  CHECK(import.count(Op::kDequantize) == 1);
  for (const Op op : {Op::kConv2d, Op::kMaxPool2d, Op::kLookup, Op::kMean, Op::kConcat})  // m + m is a table
    CHECK(import.count(op) == 1);
  // Rows 1, 2 and 3, 6: maxima of x + 1 are 3 and 7, of 2 - x 1 and -1; doubled, their means are 10 and 0.
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 3, 6}) == std::vector<float>{10, 0, 10, 0});
}

TEST_CASE("a quantized matrix product with a bias, and FP32 behind it") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT8, 0);
  scale(file, "ws", 0.25f, Type::INT8, 0);
  codes(file, "w", {1, 2}, Type::INT8, {4, 8});
  codes(file, "b", {1}, Type::INT32, {8});
  file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
  auto& gemm = file.node("QGemm", {"q", "s", "s0", "w", "ws", "ws0", "b"}, "y");
  gemm.domain = "com.microsoft";
  set(gemm, "transB", int64_t{1});
  file.output("y");
  CHECK(run_one(file.bytes(), {3, -2}) == std::vector<float>{3 - 4 + 1});
  OnnxBuilder broken(13);
  broken.input("x", {1, 2});
  broken.node("QLinearConv", {"x", "x"}, "y");
  broken.output("y");
  CHECK(Import(broken.bytes()).says("'y_node' (QLinearConv): it has 2 inputs where 8 to 9 are expected"));
  OnnxBuilder codes_as_reals(13);
  codes_as_reals.input("x", {1, 2});
  scale(codes_as_reals, "s", 0.5f, Type::INT8, 0);
  codes_as_reals.node("QuantizeLinear", {"x", "s", "s0"}, "q");
  codes_as_reals.node("Sigmoid", {"q"}, "y");
  codes_as_reals.output("y");
  CHECK(Import(codes_as_reals.bytes()).says("holds int8 codes; a DequantizeLinear must stand between"));
}

TEST_CASE("a bias for which no scale is large enough leaves its node in FP32") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT8, 0);
  scale(file, "t", 0.25f, Type::INT8, 0);
  scale(file, "ws", 0.5f, Type::INT8, 0);
  codes(file, "w", {2, 2}, Type::INT8, {1, 2, 3, 4});
  quantize(file, "x", "s", "a");
  file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf");
  file.floats("b", {2}, {1e31f, -1});
  set(file.node("Gemm", {"a", "wf", "b"}, "g"), "transB", int64_t{1});
  quantize(file, "g", "t", "y");
  file.output("y");
  const std::vector<float> y = run_one(file.bytes(), {1, 2});
  CHECK(y[0] == 127 * 0.25f);
  CHECK(y[1] == 4.5f);  // 1 * 1.5 + 2 * 2 - 1
}

TEST_CASE("a dead channel, whose scale no file of ours can hold, keeps its bias") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT8, 0);
  file.floats("ws", {2}, {0.25f, 1e-20f});
  codes(file, "ws0", {2}, Type::INT8, {0, 0});
  codes(file, "w", {2, 2}, Type::INT8, {4, 8, 100, -100});
  set(file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf"), "axis", int64_t{0});
  file.floats("b", {2}, {1, -3});
  quantize(file, "x", "s", "a");
  set(file.node("Gemm", {"a", "wf", "b"}, "g"), "transB", int64_t{1});
  quantize(file, "g", "s", "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kFullyConnected) == 1);
  REQUIRE(import.outcome->report.notes.size() == 1);
  CHECK(import.outcome->report.notes[0].find("1 of 2 channels have a scale too small") != std::string::npos);
  CHECK(run_import<float>(import, std::vector<float>{3, -2}) == std::vector<float>{3 - 4 + 1, -3});
}

TEST_CASE("an activation with a scale of nearly nothing has the least one, and a note says so") {
  OnnxBuilder file(13);
  file.input("x", {1, 4});
  file.floats("scale", {}, {0x1p-60f});
  file.floats("one", {}, {1.0f});
  file.node("QuantizeLinear", {"x", "scale"}, "q");
  file.node("DequantizeLinear", {"q", "scale"}, "d");
  file.node("Add", {"d", "one"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.notes("node 'q_node' (QuantizeLinear) has a scale below 9.09495e-13"));
  CHECK(run_import<float>(import, std::vector<float>{0, 0x1p-54f, -0x1p-60f, 0}) ==
        std::vector<float>{1, 1, 1, 1});
}

TEST_CASE("a tensor that is quantized in two ways is quantized once, and its codes converted") {
  for (const bool wide_first : {false, true}) {
    CAPTURE(wide_first);
    OnnxBuilder file(13);
    file.input("x", {1, 2});
    scale(file, "s", 0.5f, Type::INT8, 0);
    scale(file, "wide", 0.25f, Type::INT8, 0);
    scale(file, "narrow", 0.125f, Type::INT8, 1);
    scale(file, "ws", 0.5f, Type::INT8, 0);
    codes(file, "w", {2, 2}, Type::INT8, {1, 2, 3, 4});
    quantize(file, "x", "s", "a");
    file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf");
    file.node("MatMul", {"a", "wf"}, "g");
    quantize(file, "g", wide_first ? "wide" : "narrow", "u");
    quantize(file, "g", wide_first ? "narrow" : "wide", "v");
    set(file.node("Concat", {"u", "v"}, "y"), "axis", int64_t{1});
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kQuantize) == 1);
    CHECK(import.count(Op::kLookup) == 1);
    CHECK(import.tensor(import.node(Op::kFullyConnected).outputs[0]).quantization.scales[0] == 0.25f);
    CHECK(import.outcome->report.notes ==
          std::vector<std::string>{
              "tensor 'g' is quantized in 2 ways: once here, and its codes are converted for the others"});
    // 1 * 0.5 + 20 * 1.5, 1 * 1 + 20 * 2; the narrow codes end at 126 * 0.125.
    const std::vector<float> wide{30.5f, 31.75f}, narrow{15.75f, 15.75f};
    std::vector<float> expected = wide_first ? wide : narrow;
    const std::vector<float>& others = wide_first ? narrow : wide;
    expected.insert(expected.end(), others.begin(), others.end());
    CHECK(run_import<float>(import, std::vector<float>{1, 20}) == expected);
  }
}

TEST_CASE("a layer whose result is quantized in ways that do not meet writes it in FP32 for all of them") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT8, 0);
  scale(file, "low", 0.25f, Type::INT8, 127);
  scale(file, "high", 0.25f, Type::INT8, -128);
  scale(file, "ws", 0.5f, Type::INT8, 0);
  codes(file, "w", {2, 2}, Type::INT8, {1, 2, 3, 4});
  quantize(file, "x", "s", "a");
  file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf");
  file.node("MatMul", {"a", "wf"}, "g");
  quantize(file, "g", "low", "u");
  quantize(file, "g", "high", "v");
  file.node("Add", {"u", "v"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.outcome->report.notes.empty());
  const GraphNode& layer = import.node(Op::kFullyConnected);
  CHECK(import.tensor(layer.inputs[1]).dtype == DType::kS8);
  CHECK(import.tensor(layer.outputs[0]).dtype == DType::kF32);
  CHECK(run_import<float>(import, std::vector<float>{-1, 3}) == std::vector<float>{4, 5});
}

// Channels x + 1 and 2 - x.
void add_conv(OnnxBuilder& file, const std::string& x, const std::string& y, int64_t group = 1) {
  file.floats("ws", {2}, {0.5f, 0.25f});
  codes(file, "ws0", {2}, Type::INT8, {0, 0});
  codes(file, "w", {2, 1, 1, 1}, Type::INT8, {2, -4});
  file.floats("b", {2}, {1, 2});
  set(file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf"), "axis", int64_t{0});
  set(file.node("Conv", {x, "wf", "b"}, y), "group", group);
}

void check_leaves(Import& import, Op op) {
  const GraphNode& layer = import.node(op);
  CHECK(import.tensor(layer.inputs[0]).dtype == DType::kS8);
  CHECK(import.tensor(layer.inputs[1]).dtype == DType::kS8);
  CHECK(import.tensor(layer.outputs[0]).dtype == DType::kF32);
  CHECK_FALSE(import.notes("in FP32"));
}

TEST_CASE("a convolution of codes whose result is not quantized has int8 weights and writes FP32") {
  for (const bool with_relu : {false, true}) {
    CAPTURE(with_relu);
    OnnxBuilder file(13);
    file.input("x", {1, 1, 2, 2});
    scale(file, "s", 0.5f, Type::INT8, 3);
    quantize(file, "x", "s", "a");
    add_conv(file, "a", "c");
    if (with_relu) file.node("Relu", {"c"}, "r");
    file.node("Exp", {with_relu ? "r" : "c"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    check_leaves(import, Op::kConv2d);
    CHECK(import.count(Op::kClamp) == 0);
    const auto logs = [&](std::vector<float> x) {
      std::vector<float> y = run_import<float>(import, x);
      for (float& v : y) v = std::round(std::log(v) * 1000) / 1000;
      return y;
    };
    CHECK(logs({1, 2, 3, 4}) == (with_relu ? std::vector<float>{2, 3, 4, 5, 1, 0, 0, 0}
                                           : std::vector<float>{2, 3, 4, 5, 1, 0, -1, -2}));
  }
}

TEST_CASE("a depthwise convolution of codes likewise, and the same layer that codes and reals read") {
  OnnxBuilder file(13);
  file.input("x", {1, 2, 1, 2});
  scale(file, "s", 0.5f, Type::INT8, 3);
  quantize(file, "x", "s", "a");
  add_conv(file, "a", "c", 2);
  quantize(file, "c", "s", "q");
  file.node("Sub", {"q", "c"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  check_leaves(import, Op::kDepthwiseConv2d);
  CHECK(import.count(Op::kQuantize) == 2);
  // 100 is read as 62, the greatest code: its sum, 63, lies beyond the codes.
  CHECK(run_import<float>(import, std::vector<float>{100, 1, 0, 60}) == std::vector<float>{62 - 63, 0, 0, 0});
}

TEST_CASE("Relu between codes and a layer whose result is not quantized stays on codes") {
  OnnxBuilder file(13);
  file.input("x", {1, 1, 1, 2});
  scale(file, "s", 0.5f, Type::INT8, 3);
  quantize(file, "x", "s", "a");
  file.node("Relu", {"a"}, "r");
  add_conv(file, "r", "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  check_leaves(import, Op::kConv2d);
  CHECK(import.count(Op::kDequantize) == 0);
  CHECK(run_import<float>(import, std::vector<float>{-4, 4}) == std::vector<float>{1, 5, 2, -2});
}

TEST_CASE("a matrix product of many rows, and bounds behind it, which stand apart") {
  constexpr int32_t kRows = 40;
  OnnxBuilder file(13);
  file.input("x", {kRows, 2});
  scale(file, "s", 0.5f, Type::INT8, 3);
  scale(file, "ws", 0.5f, Type::INT8, 0);
  codes(file, "w", {2, 2}, Type::INT8, {1, 2, 3, 4});
  quantize(file, "x", "s", "a");
  file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf");
  file.node("MatMul", {"a", "wf"}, "g");
  file.node("Relu", {"g"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  check_leaves(import, Op::kFullyConnected);
  CHECK(import.count(Op::kClamp) == 1);
  std::vector<float> x, expected;
  for (int32_t row = 0; row < kRows; ++row) {
    const auto a = static_cast<float>(row - 20), b = static_cast<float>(7 - row);
    x.insert(x.end(), {a, b});
    expected.insert(expected.end(), {std::max(0.5f * a + 1.5f * b, 0.0f), std::max(a + 2 * b, 0.0f)});
  }
  CHECK(run_import<float>(import, x) == expected);
}

}  // namespace intaglio::test::import_onnx_quantized_test
