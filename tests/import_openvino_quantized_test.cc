// Codes in OpenVINO's IR: weights that are stored as codes, FakeQuantize, and networks whose ends are codes.
#include <cmath>

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

namespace {

// The values of a constant of the type: it is added to zeros. `scale` and `zero_point` are of one element or of each row's.
std::vector<float> held(const char* type, int64_t count, const std::vector<uint8_t>& bytes,
                        float scale = 1.0f, int zero_point = 0) {
  Ir ir;
  const IrDims dims{1, count};
  const int x = ir.input("x", dims);
  const int codes =
      ir.layer("Convert", "codes", {ir.constant(type, dims, bytes)}, dims, "destination_type=\"f16\"");
  int moved = codes;
  if (zero_point != 0)
    moved = ir.layer("Subtract", "moved", {codes, ir.floats({1, 1}, {static_cast<float>(zero_point)})}, dims,
                     "auto_broadcast=\"numpy\"");
  const int w =
      ir.layer("Multiply", "w", {moved, ir.floats({1, 1}, {scale})}, dims, "auto_broadcast=\"numpy\"");
  ir.output(ir.layer("Add", "y", {x, w}, dims, "auto_broadcast=\"numpy\""));
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<float>(import, std::vector<float>(static_cast<size_t>(count), 0.0f));
}

}  // namespace

TEST_CASE("constants of narrow types") {
  CHECK(held("u4", 3, {0x21, 0x0f}) == std::vector<float>{1, 2, 15});
  CHECK(held("u4", 4, {0x21, 0x0f}, 0.5f, 8) == std::vector<float>{-3.5f, -3, 3.5f, -4});
  CHECK(held("i4", 4, {0x87, 0xf1}) == std::vector<float>{7, -8, 1, -1});
  CHECK(held("i4", 4, {0x87, 0xf1}, -0.25f) == std::vector<float>{-1.75f, 2, -0.25f, 0.25f});
  CHECK(held("u2", 5, {0xe4, 0x02}) == std::vector<float>{0, 1, 2, 3, 2});
  // Two lower bits of each of 8 values, then their upper ones, each from the top: 0 to 7.
  CHECK(held("u3", 8, {0x1b, 0x1b, 0x0f}) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(held("u6", 4, {0x12, 0x3f, 0x1b}) == std::vector<float>{1, 18, 35, 63});
  CHECK(held("f8e4m3", 4, {0x38, 0xc0, 0x7e, 0x01}) == std::vector<float>{1, -2, 448, 0x1p-9f});
  CHECK(held("f8e5m2", 3, {0x3c, 0xc0, 0x7b}) == std::vector<float>{1, -2, 57344});
  CHECK(held("f4e2m1", 8, {0x10, 0x32, 0x54, 0xf6}) == std::vector<float>{0, 0.5f, 1, 1.5f, 2, 3, 4, -6});
  CHECK(held("f8e8m0", 2, {0x7f, 0x81}) == std::vector<float>{1, 4});
  CHECK(held("nf4", 4, {0x70, 0xfe}) == std::vector<float>{-1, 0, 0.7229568362236023f, 1});
}

TEST_CASE("weights with a scale for each group are FP32, of signed scales too") {
  Ir ir;
  const int x = ir.input("x", {1, 4});
  const IrDims groups{2, 2, 2};
  const int codes =
      ir.layer("Convert", "codes", {ir.constant("u4", groups, std::vector<uint8_t>{0x21, 0x43, 0x65, 0x87})},
               groups, "destination_type=\"f16\"");
  const int zeros =
      ir.layer("Convert", "zeros", {ir.constant("u4", {2, 2, 1}, std::vector<uint8_t>{0x10, 0x32})},
               {2, 2, 1}, "destination_type=\"f16\"");
  const int moved = ir.layer("Subtract", "moved", {codes, zeros}, groups, "auto_broadcast=\"numpy\"");
  const int scaled = ir.layer("Multiply", "scaled", {moved, ir.floats({2, 2, 1}, {1, -2, 0.5f, 4})}, groups,
                              "auto_broadcast=\"numpy\"");
  const int w = ir.layer("Reshape", "w", {scaled, ir.integers({2, 4})}, {2, 4}, "special_zero=\"false\"");
  ir.output(ir.layer("MatMul", "m", {x, w}, {1, 2}, "transpose_a=\"false\" transpose_b=\"true\""));
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  // Rows: (1, 2) - 0, -2 * ((3, 4) - 1); 0.5 * ((5, 6) - 2), 4 * ((7, 8) - 3).
  CHECK(run_import<float>(import, std::vector<float>{1, 10, 100, 1000}) ==
        std::vector<float>{21 - 400 - 6000, 1.5f + 20 + 1600 + 20000});
}

TEST_CASE("a narrow constant that ends too early is refused") {
  Ir ir;
  const int x = ir.input("x", {1, 5});
  const int codes = ir.layer("Convert", "codes", {ir.constant("u4", {1, 5}, std::vector<uint8_t>{1, 2})},
                             {1, 5}, "destination_type=\"f32\"");
  ir.output(ir.layer("Add", "y", {x, codes}, {1, 5}, "auto_broadcast=\"numpy\""));
  Import import(ir.xml(), ir.options());
  CHECK_FALSE(import.good());
  CHECK(import.message().find("has 2 bytes for 5 elements of u4") != std::string::npos);
}

// NNCF's depthwise weights behind read_model(): limits for each column of the kernel.
TEST_CASE(
    "limits of weights along several axes: one grid where they are the same, the nearest codes where they differ") {
  for (const bool same : {true, false}) {
    CAPTURE(same);
    Ir ir;
    const int x = ir.input("x", {1, 2, 1, 4});
    const auto range = [&](float value) { return ir.floats({1, 1, 1, 1}, {value}); };
    const auto quantize = [&](const char* name, int of, const IrDims& dims) {
      return ir.layer("FakeQuantize", name, {of, range(-64), range(63.5f), range(-64), range(63.5f)}, dims,
                      "levels=\"256\" auto_broadcast=\"numpy\"");
    };
    const IrDims shape{2, 1, 1, 1, 2}, limits{2, 1, 1, 1, 2};
    const std::vector<float> high{63.5f, same ? 63.5f : 31.75f, 127, 127};
    const std::vector<float> low{-64, same ? -64.0f : -32.0f, -128, -128};
    const int lows = ir.floats(limits, low), highs = ir.floats(limits, high);
    const int w =
        ir.layer("FakeQuantize", "w", {ir.floats(shape, {1.5f, 2.25f, -3, 4}), lows, highs, lows, highs},
                 shape, "levels=\"256\" auto_broadcast=\"numpy\"");
    const int conv = ir.layer("GroupConvolution", "conv", {quantize("in", x, {1, 2, 1, 4}), w}, {1, 2, 1, 3},
                              "strides=\"1, 1\" dilations=\"1, 1\" pads_begin=\"0, 0\" pads_end=\"0, 0\" "
                              "auto_pad=\"explicit\"");
    ir.output(quantize("out", conv, {1, 2, 1, 3}));
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK_FALSE(import.notes("stay in FP32"));
    CHECK(import.notes("2 of 2 channels hold weights between the codes of one scale a channel") != same);
    const TensorInfo& weights = import.tensor(import.node(Op::kDepthwiseConv2d).inputs[1]);
    REQUIRE(weights.dtype == DType::kS8);
    const auto* const codes = reinterpret_cast<const int8_t*>(weights.constant.data);  // [kw, c]
    if (!same) {
      CHECK(std::vector<int8_t>(codes, codes + 4) ==
            std::vector<int8_t>{85, -95, 127, 127});  // 1.5, -3; 2.25, 4
      CHECK(weights.quantization.scales[0] == 2.25f / 127);
      CHECK(weights.quantization.scales[1] == 4.0f / 127);
    }
    // NHWC in, NCHW out. 2.25 is between two steps of 0.5, and one of 0.25.
    const float second = same ? 2.0f : 2.25f;
    CHECK(run_import<float>(import, std::vector<float>{2, 1, 4, 2, 8, 3, 0, 1}) ==
          std::vector<float>{3 + 4 * second, std::nearbyint((6 + 8 * second) * 2) / 2, 12, 5, 6, -5});
  }
}

// NNCF's depthwise weights after read_model() and compression: a scale for each column of the kernel, and its zero point.
TEST_CASE(
    "stored weights with scales along several axes: the nearest codes in int8, whose sums stay; exact in FP32") {
  Random random(5);
  for (const bool is_int8 : {true, false}) {
    CAPTURE(is_int8);
    constexpr int kChannels = 4, kSide = 3;
    const IrDims shape{kChannels, 1, 1, kSide, kSide}, columns{kChannels, 1, 1, 1, kSide};
    std::vector<uint8_t> codes(kChannels * kSide * kSide), zeros(kChannels * kSide);
    for (uint8_t& code : codes) code = static_cast<uint8_t>(random.bits());
    for (uint8_t& zero : zeros) zero = static_cast<uint8_t>(120 + random.bits() % 16);
    const std::vector<float> scales = random.reals(kChannels * kSide, 0.01f, 0.03f);
    Ir ir;
    const int x = ir.input("x", {1, kChannels, 3, 3});
    const auto range = [&](const char* name, int of, float low, float high, const IrDims& dims) {
      const int l = ir.floats({}, {low}), h = ir.floats({}, {high});
      return is_int8 ? ir.layer("FakeQuantize", name, {of, l, h, l, h}, dims,
                                "levels=\"256\" auto_broadcast=\"numpy\"")
                     : of;
    };
    const auto real = [&](const char* name, int of, const IrDims& dims) {
      return ir.layer("Convert", name, {of}, dims, "destination_type=\"f32\"");
    };
    const int moved = ir.layer("Subtract", "moved",
                               {real("codes", ir.constant("u8", shape, codes), shape),
                                real("zeros", ir.constant("u8", columns, zeros), columns)},
                               shape, "auto_broadcast=\"numpy\"");
    const int w =
        ir.layer("Multiply", "w", {moved, ir.floats(columns, scales)}, shape, "auto_broadcast=\"numpy\"");
    const int conv = ir.layer(
        "GroupConvolution", "conv", {range("in", x, -1.28f, 1.27f, {1, kChannels, 3, 3}), w},
        {1, kChannels, 1, 1},
        "strides=\"1, 1\" dilations=\"1, 1\" pads_begin=\"0, 0\" pads_end=\"0, 0\" auto_pad=\"explicit\"");
    ir.output(range("out", conv, -12.8f, 12.7f, {1, kChannels, 1, 1}));
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    const TensorInfo& made = import.tensor(import.node(Op::kDepthwiseConv2d).inputs[1]);
    REQUIRE(made.dtype == (is_int8 ? DType::kS8 : DType::kF32));
    for (size_t c = 0; c < kChannels; ++c) {
      double sum = 0.0, exact_sum = 0.0;
      const double step = is_int8 ? made.quantization.scales[c] : 1.0;
      for (size_t i = 0; i < kSide * kSide; ++i) {
        const size_t column = c * kSide + i % kSide, at = c * kSide * kSide + i;
        const float exact = static_cast<float>(codes[at] - zeros[column]) * scales[column];
        const double found =
            is_int8 ? step * reinterpret_cast<const int8_t*>(made.constant.data)[i * kChannels + c]
                    : reinterpret_cast<const float*>(made.constant.data)[i * kChannels + c];
        if (!is_int8) CHECK(found == exact);
        CHECK(std::fabs(found - exact) <= step);
        sum += found;
        exact_sum += exact;
      }
      CHECK(std::fabs(sum - exact_sum) <= 0.51 * step);
    }
  }
}

TEST_CASE("axes of a reduction that a shape says") {
  Ir ir;
  const int x = ir.input("x", {1, 2, 1, 4});
  const auto number = [&](int64_t value) { return ir.constant("i64", {}, std::vector<int64_t>{value}); };
  const int shape = ir.layer("ShapeOf", "shape", {x}, {4}, "output_type=\"i64\"", "opset3", "I64");
  const int ranks = ir.layer("ShapeOf", "ranks", {shape}, {1}, "output_type=\"i64\"", "opset3", "I64");
  const int rank = ir.layer("Squeeze", "rank", {ranks}, {}, "", "opset1", "I64");
  const int axes =
      ir.layer("Range", "axes", {number(2), rank, number(1)}, {2}, "output_type=\"i64\"", "opset4", "I64");
  ir.output(ir.layer("ReduceMean", "y", {x, axes}, {1, 2, 1, 1}, "keep_dims=\"true\""));
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 3, 6, 10, 20, 30, 40}) ==
        std::vector<float>{3, 25});
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
