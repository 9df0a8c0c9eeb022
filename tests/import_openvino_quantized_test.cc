// Codes in OpenVINO's IR: weights that are stored as codes, FakeQuantize, and networks whose ends are codes.
#include "tests/support/imported.h"
#include "tests/support/ir_builder.h"

namespace intaglio::test::import_openvino_quantized_test {

TEST_CASE("weights in codes keep them, in int8, with halves for scales, in groups too") {
  Random random(3);
  for (const bool groups : {false, true}) {
    CAPTURE(groups);
    std::vector<int8_t> codes(4 * (groups ? 1 : 4) * 9);
    for (int8_t& code : codes) code = static_cast<int8_t>(static_cast<int>(random.bits() % 255) - 127);
    Ir ir;
    const int x = ir.input("x", {1, 4, 6, 6});
    const auto range = [&](float value) { return ir.floats({1, 1, 1, 1}, {value}); };
    const auto quantize = [&](const char* name, int of, float low, float high) {
      return ir.layer("FakeQuantize", name, {of, range(low), range(high), range(low), range(high)},
                      {1, 4, 6, 6}, "levels=\"256\" auto_broadcast=\"numpy\"");
    };
    const IrDims shape{4, groups ? 1 : 4, 3, 3};
    const int w =
        ir.layer("Convert", "w", {ir.constant("i8", shape, codes)}, shape, "destination_type=\"f16\"");
    const std::vector<uint16_t> halves{0x2000, 0x2400, 0x2800, 0x1c00};  // 2^-7, 2^-6, 2^-5, 2^-8
    const int s = ir.constant("f16", {4, 1, 1, 1}, halves);
    int scaled = ir.layer("Multiply", "scaled", {w, s}, shape, "auto_broadcast=\"numpy\"");
    scaled = ir.layer("Convert", "real", {scaled}, shape, "destination_type=\"f32\"");
    if (groups)
      scaled = ir.layer("Reshape", "r", {scaled, ir.integers({4, 1, 1, 3, 3})}, {4, 1, 1, 3, 3},
                        "special_zero=\"false\"");
    const int conv = ir.layer(
        groups ? "GroupConvolution" : "Convolution", "conv", {quantize("in", x, -1.28f, 1.27f), scaled},
        {1, 4, 6, 6},
        "strides=\"1, 1\" dilations=\"1, 1\" pads_begin=\"1, 1\" pads_end=\"1, 1\" auto_pad=\"explicit\"");
    ir.output(quantize("out", conv, -2.56f, 2.54f));
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    const GraphNode& made = import.node(groups ? Op::kDepthwiseConv2d : Op::kConv2d);
    const TensorInfo& weights = import.tensor(made.inputs[1]);
    REQUIRE(weights.dtype == DType::kS8);
    CHECK(std::vector<float>(weights.quantization.scales.begin(), weights.quantization.scales.end()) ==
          std::vector<float>{0x1p-7f, 0x1p-6f, 0x1p-5f, 0x1p-8f});
    // [oc, kh, kw, ic], of groups [kh, kw, c]; in the file [oc, ic, kh, kw].
    std::vector<int8_t> found(weights.constant.size), expected;
    std::memcpy(found.data(), weights.constant.data, found.size());
    const size_t outer = groups ? 1 : 4, inner = 4;
    for (size_t o = 0; o < outer; ++o)
      for (size_t at = 0; at < 9; ++at)
        for (size_t i = 0; i < inner; ++i) expected.push_back(codes[(o * inner + i) * 9 + at]);
    CHECK(found == expected);
  }
}

TEST_CASE("a stored matrix that a product transposes keeps its codes") {
  Ir ir;
  const auto range = [&](float value) { return ir.floats({1, 1}, {value}); };
  const int x = ir.input("x", {1, 2});
  const int a = ir.layer("FakeQuantize", "a", {x, range(-64), range(63.5f), range(-64), range(63.5f)}, {1, 2},
                         "levels=\"256\" auto_broadcast=\"numpy\"");
  const int codes =
      ir.layer("Convert", "codes", {ir.constant("i8", {3, 2}, std::vector<int8_t>{2, 4, -6, 8, 1, 100})},
               {3, 2}, "destination_type=\"f32\"");
  const int w = ir.layer("Multiply", "w", {codes, ir.floats({3, 1}, {0.5f, 0.25f, 0.125f})}, {3, 2},
                         "auto_broadcast=\"numpy\"");
  const int m = ir.layer("MatMul", "m", {a, w}, {1, 3}, "transpose_a=\"false\" transpose_b=\"true\"");
  ir.output(ir.layer("FakeQuantize", "y", {m, range(-64), range(63.5f), range(-64), range(63.5f)}, {1, 3},
                     "levels=\"256\" auto_broadcast=\"numpy\""));
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  const TensorInfo& weights = import.tensor(import.node(Op::kFullyConnected).inputs[1]);
  REQUIRE(weights.dtype == DType::kS8);
  std::vector<int8_t> found(weights.constant.size);
  std::memcpy(found.data(), weights.constant.data, found.size());
  CHECK(found == std::vector<int8_t>{2, 4, -6, 8, 1, 100});
  CHECK(std::vector<float>(weights.quantization.scales.begin(), weights.quantization.scales.end()) ==
        std::vector<float>{0.5f, 0.25f, 0.125f});
  CHECK(run_import<float>(import, std::vector<float>{1, 2}) ==
        std::vector<float>{5, 2.5f, 25});  // 25.125 to even
}

// As an int8 TFLite file becomes an IR: numbers of its codes come in, a FakeQuantize gives them their reals, and the last one
// gives codes again, which Convert stores.
TEST_CASE("a network whose input and output are codes") {
  for (const bool is_unsigned : {false, true}) {
    CAPTURE(is_unsigned);
    const std::string type = is_unsigned ? "u8" : "i8";
    const float least = is_unsigned ? 0.0f : -128.0f, most = is_unsigned ? 255.0f : 127.0f;
    Ir ir;
    const auto fake = [&](const char* name, int x, const std::vector<float>& ranges) {
      std::vector<int> inputs{x};
      for (const float limit : ranges) inputs.push_back(ir.floats({1, 1}, {limit}));
      return ir.layer("FakeQuantize", name, inputs, {1, 4}, "levels=\"256\" auto_broadcast=\"numpy\"");
    };
    const int x = ir.input("x", {1, 4}, type);
    const int numbers = ir.layer("Convert", "numbers", {x}, {1, 4}, "destination_type=\"f32\"");
    const int reals = fake("reals", numbers, {least, most, -64, 63.5f});
    const int relu = ir.layer("ReLU", "relu", {reals}, {1, 4});
    const int y = fake("y", relu, {0, 127.5f, least, most});
    ir.output(ir.layer("Convert", "stored", {y}, {1, 4}, "destination_type=\"" + type + "\""));
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.notes("is " + type + " in the file; here it is float, with the same numbers"));
    // Codes -128, -1, 2 and 127 are -64, -0.5, 1 and 63.5; of steps of 0.5 the results are codes 0, 0, 2 and 127 above the least.
    std::vector<float> input{-128, -1, 2, 127}, expected{0, 0, 2, 127};
    for (size_t i = 0; i < 4; ++i) {
      input[i] += is_unsigned ? 128.0f : 0.0f;
      expected[i] += least;
    }
    CHECK(run_import<float>(import, input) == expected);
  }
}

TEST_CASE("a conversion to 8 bits of what has no codes gives int32") {
  const auto run = [](const char* type, const char* from, const std::vector<float>& x) {
    Ir ir;
    const int in = ir.input("x", {1, 4});
    const int whole = std::string(from) == "f32" ? in
                                                 : ir.layer("Convert", "whole", {in}, {1, 4},
                                                            "destination_type=\"" + std::string(from) + "\"");
    ir.output(ir.layer("Convert", "c", {whole}, {1, 4}, "destination_type=\"" + std::string(type) + "\""));
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.notes("in the file; here it is int32"));
    return run_import<int32_t>(import, x);
  };
  using Ints = std::vector<int32_t>;
  CHECK(run("u8", "f32", {-3, 1.9f, 254.5f, 300}) == Ints{0, 1, 254, 255});
  CHECK(run("i8", "f32", {-300, -1.9f, 1.9f, 300}) == Ints{-128, -1, 1, 127});
  CHECK(run("u8", "boolean", {0, 2, 0, 1}) == Ints{0, 1, 0, 1});
}

}  // namespace intaglio::test::import_openvino_quantized_test
