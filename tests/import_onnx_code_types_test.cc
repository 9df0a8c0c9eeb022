// The element type of codes in ONNX files: of QuantizeLinear's output, DequantizeLinear's input, and what lies between.
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_onnx_code_types_test {
namespace {

struct CodeType {
  Type::DataType type;
  float least, most;
  bool is_unsigned, is_wide;
};
constexpr CodeType kCodeTypes[] = {{Type::INT8, -128, 127, false, false},
                                   {Type::UINT8, 0, 255, true, false},
                                   {Type::INT16, -32768, 32767, false, true},
                                   {Type::UINT16, 0, 65535, true, true}};

}  // namespace

// ONNX: without a zero point, output_dtype of QuantizeLinear says the type of the codes, and it is uint8 where nothing does.
// output_dtype of DequantizeLinear is the type of the reals. The zero point is then 0.
TEST_CASE("the type of codes without a zero point comes from who writes them") {
  for (const CodeType& code : kCodeTypes)
    for (const bool says_real : {false, true})
      for (const bool moves : {false, true}) {
        CAPTURE(code.type);
        CAPTURE(says_real);
        CAPTURE(moves);
        OnnxBuilder file(23);
        file.input("x", {1, 4});
        file.floats("s", {}, {0.5f});
        file.integers("shape", {2, 2});
        set(file.node("QuantizeLinear", {"x", "s"}, "q"), "output_dtype", int64_t{code.type});
        if (moves) file.node("Reshape", {"q", "shape"}, "m");
        auto& node = file.node("DequantizeLinear", {moves ? "m" : "q", "s"}, "y");
        if (says_real) set(node, "output_dtype", int64_t{Type::FLOAT});
        file.output("y");
        // 1 and -3 are codes 2 and -6; the others end at the codes' ends.
        CHECK(run_file(file.bytes(), {1, -3, 1e6f, -1e6f}) ==
              std::vector<float>{1, code.is_unsigned ? 0.0f : -3.0f, code.most / 2, code.least / 2});
      }
  OnnxBuilder plain(21);
  plain.input("x", {1, 3});
  plain.floats("s", {}, {0.5f});
  plain.node("QuantizeLinear", {"x", "s"}, "q");
  plain.node("DequantizeLinear", {"q", "s"}, "y");
  plain.output("y");
  CHECK(run_file(plain.bytes(), {1, -3, 1e6f}) == std::vector<float>{1, 0, 127.5f});
}

TEST_CASE("inputs of codes without a zero point have their own type's numbers") {
  for (const bool is_unsigned : {false, true}) {
    CAPTURE(is_unsigned);
    OnnxBuilder file(21);
    file.input("x", {1, 3});
    auto& described = file.graph().input[0].type.make().tensor_type.make();
    described.elem_type = is_unsigned ? Type::UINT8 : Type::INT8;
    file.floats("s", {}, {0.5f});
    file.node("DequantizeLinear", {"x", "s"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    // The model's codes are int8; those of uint8 are the file's minus 128.
    CHECK(run_import<float>(import, std::vector<int8_t>{-128, 0, 127}) ==
          (is_unsigned ? std::vector<float>{0, 64, 127.5f} : std::vector<float>{-64, 0, 63.5f}));
  }
}

TEST_CASE("constants of codes without a zero point, as the file has them or quantized there") {
  for (const CodeType& code : kCodeTypes)
    for (const bool computed : {false, true}) {
      CAPTURE(code.type);
      CAPTURE(computed);
      OnnxBuilder file(23);
      file.input("x", {1, 4});
      file.floats("s", {}, {0.5f});
      if (computed) {
        file.floats("c", {1, 4}, {1, -3, 1e6f, -1e6f});
        set(file.node("QuantizeLinear", {"c", "s"}, "w"), "output_dtype", int64_t{code.type});
      } else {
        codes(file, "w", {1, 4}, code.type,
              {2, code.is_unsigned ? 0 : -6, static_cast<int32_t>(code.most),
               static_cast<int32_t>(code.least)});
      }
      file.node("DequantizeLinear", {"w", "s"}, "d");
      file.node("Add", {"x", "d"}, "y");
      file.output("y");
      CHECK(run_file(file.bytes(), {0, 0, 0, 0}) ==
            std::vector<float>{1, code.is_unsigned ? 0.0f : -3.0f, code.most / 2, code.least / 2});
    }
}

TEST_CASE("operators on codes without a zero point give the codes that they take") {
  OnnxBuilder file(21);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT8, 0);
  file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
  auto& add = file.node("QLinearAdd", {"q", "s", "", "q", "s", "", "s"}, "a");
  add.domain = "com.microsoft";
  file.node("DequantizeLinear", {"a", "s"}, "y");
  file.output("y");
  CHECK(run_file(file.bytes(), {1, -3}) == std::vector<float>{2, -6});
}

TEST_CASE("a zero point keeps its type through operators of constants") {
  for (const bool casts : {false, true}) {
    OnnxBuilder file(21);
    file.input("x", {1, 2});
    scale(file, "s", 0.5f, Type::UINT8, 0);
    if (casts) {
      file.integers("number", {0});
      set(file.node("Cast", {"number"}, "z"), "to", int64_t{Type::UINT8});
    } else {
      file.node("Identity", {"s0"}, "z");
    }
    file.node("QuantizeLinear", {"x", "s", "z"}, "q");
    file.node("DequantizeLinear", {"q", "s", "z"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), {100, -3}) == std::vector<float>{100, 0});
  }
}

TEST_CASE("types of codes that contradict each other are refused") {
  const auto message = [](bool quantizes) {
    OnnxBuilder file(23);
    file.input("x", {1, 2});
    scale(file, "s", 0.5f, Type::INT8, 0);
    scale(file, "u", 0.5f, Type::UINT8, 0);
    auto& first = file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
    if (quantizes) set(first, "output_dtype", int64_t{Type::UINT8});
    file.node("DequantizeLinear", {"q", "u", "u0"}, "y");
    file.output("y");
    return Import(file.bytes()).message();
  };
  CHECK(message(true).find("its output type is uint8 and its zero point is int8") != std::string::npos);
  CHECK(message(false).find("its codes are int8 and its zero point is uint8") != std::string::npos);
  OnnxBuilder other(23);
  other.input("x", {1, 2});
  other.floats("s", {}, {0.5f});
  set(other.node("QuantizeLinear", {"x", "s"}, "q"), "output_dtype", int64_t{Type::INT32});
  other.output("q");
  CHECK(Import(other.bytes()).says("codes of type int32 are not supported; those of 4, 8 and 16 bits are"));
}

TEST_CASE("constants of 4 bits, packed two a byte, with a scale for each channel or each block") {
  for (const bool is_signed : {false, true})
    for (const bool blocks : {false, true}) {
      CAPTURE(is_signed);
      CAPTURE(blocks);
      OnnxBuilder file(21);
      file.input("x", {2, 3});
      // Codes 1, 15, 8, 2, 7, 9; signed: 1, -1, -8, 2, 7, -7.
      codes(file, "w", {2, 3}, Type::UINT8, {0xf1, 0x28, 0x97});
      file.graph().initializer[0].data_type = is_signed ? 22 : 21;
      file.floats("s", blocks ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{3},
                  blocks ? std::vector<float>{1, 2, 4, 8} : std::vector<float>{1, 2, 4});
      auto& node = file.node("DequantizeLinear", {"w", "s"}, "d");
      set(node, "axis", int64_t{1});
      if (blocks) set(node, "block_size", int64_t{2});
      file.node("Add", {"x", "d"}, "y");
      file.output("y");
      const std::vector<float> plain =
          is_signed ? std::vector<float>{1, -1, -8, 2, 7, -7} : std::vector<float>{1, 15, 8, 2, 7, 9};
      const std::vector<float> factors =
          blocks ? std::vector<float>{1, 1, 2, 4, 4, 8} : std::vector<float>{1, 2, 4, 1, 2, 4};
      std::vector<float> expected;
      for (size_t i = 0; i < 6; ++i) expected.push_back(plain[i] * factors[i]);
      CHECK(run_file(file.bytes(), std::vector<float>(6, 0.0f)) == expected);
    }
  OnnxBuilder file(21);
  file.input("x", {2, 3});
  codes(file, "w", {2, 3}, Type::INT8, {1, 2, 3, 4, 5, 6});
  file.floats("s", {2, 2}, {1, 2, 4, 8});
  auto& node = file.node("DequantizeLinear", {"w", "s"}, "d");
  set(node, "axis", int64_t{1});
  set(node, "block_size", int64_t{4});
  file.node("Add", {"x", "d"}, "y");
  file.output("y");
  CHECK(Import(file.bytes()).says("its scales have the shape [2, 2] where blocks of 4 have [2, 1]"));
}

TEST_CASE("constants of floats of 8 and 4 bits are reals") {
  struct Case {
    int type;
    std::vector<int> codes;  // three, or two bytes of two each
    std::vector<float> values;
  };
  const Case cases[] = {{17, {0x38, 0xc0, 0x7e}, {1, -2, 448}},   {18, {0x40, 0xc8, 0x01}, {1, -2, 0x1p-10f}},
                        {19, {0x3c, 0xc0, 0x7b}, {1, -2, 57344}}, {20, {0x40, 0xc4, 0x01}, {1, -2, 0x1p-17f}},
                        {23, {0xc2, 0x07}, {1, -2, 6}},           {24, {0x7f, 0x81, 0x7e}, {1, 4, 0.5f}}};
  for (const Case& each : cases) {
    CAPTURE(each.type);
    OnnxBuilder file(23);
    file.input("x", {1, 3});
    codes(file, "w", {1, 3}, Type::UINT8, {each.codes.begin(), each.codes.end()});
    codes(file, "z", {}, Type::UINT8, {0});
    for (auto& constant : file.graph().initializer) constant.data_type = each.type;
    file.floats("s", {}, {0.5f});
    file.node("DequantizeLinear", {"w", "s", "z"}, "d");
    file.node("Add", {"x", "d"}, "y");
    file.output("y");
    std::vector<float> expected = each.values;
    for (float& value : expected) value *= 0.5f;
    // Its zero point is a number of its own type; of E8M0 the code 0 is 2^-127.
    if (each.type == 24)
      CHECK(Import(file.bytes()).says("is not allowed"));
    else
      CHECK(run_file(file.bytes(), {0, 0, 0}) == expected);
  }
}

TEST_CASE("zero points of int32, as PPQ writes them of more than 8 bits: 16 bits, and constants of all") {
  OnnxBuilder file(13);
  file.input("x", {1, 3});
  file.floats("s", {}, {0.5f});
  codes(file, "z", {}, Type::INT32, {0});
  file.floats("c", {1, 3}, {100000.2f, -0.3f, 0.0f});
  file.node("QuantizeLinear", {"x", "s", "z"}, "q");
  file.node("DequantizeLinear", {"q", "s", "z"}, "d");
  file.node("QuantizeLinear", {"c", "s", "z"}, "e");
  file.node("DequantizeLinear", {"e", "s", "z"}, "f");
  file.node("Add", {"d", "f"}, "y");
  file.output("y");
  CHECK(run_file(file.bytes(), {0.3f, 0.3f, -1000.1f}) == std::vector<float>{100000.5f, 0, -1000});
}

TEST_CASE("steps of a scale that no model holds are reals") {
  OnnxBuilder file(21);
  file.input("x", {1, 4});
  scale(file, "s", 0x1p118f, Type::UINT8, 255);
  quantize(file, "x", "s", "y");
  file.output("y");
  // Codes end at -255 steps; numbers end at the one that stands for infinity, 2^127.
  CHECK(run_file(file.bytes(), {0, 5, -0x1p118f, -0x1.8p125f}) ==
        std::vector<float>{0, 0, -0x1p118f, -0x1.8p125f});
  CHECK(run_file(file.bytes(), {0, 5, 0x1p120f, -3e38f}) == std::vector<float>{0, 0, 0, -255 * 0x1p118f});
}

TEST_CASE("codes that are looked up become reals behind it") {
  OnnxBuilder file(21);
  file.input("i", {1, 3});
  file.graph().input[0].type.make().tensor_type.make().elem_type = Type::INT64;
  codes(file, "rows", {3, 1}, Type::UINT8, {10, 128, 255});
  scale(file, "s", 0.5f, Type::UINT8, 128);
  file.node("Gather", {"rows", "i"}, "g");
  file.node("DequantizeLinear", {"g", "s", "s0"}, "y");
  file.output("y");
  CHECK(run_file<float>(file.bytes(), std::vector<int32_t>{2, 0, 1}) == std::vector<float>{63.5f, -59, 0});
}

TEST_CASE("codes that are FP32 here are dequantized by the scale and zero point of who reads them") {
  struct Case {
    Type::DataType type;
    int32_t first, second;  // zero points
    float scale;
    std::vector<float> expected;
  };
  for (const Case& c :
       {Case{Type::INT16, 0, 0, 1, {2, 4, -6, 8}}, Case{Type::INT16, 10, 10, 0.5f, {1, 2, -3, 4}},
        Case{Type::INT16, 0, 3, 2, {-2, 2, -18, 10}}, Case{Type::UINT16, 32768, 32760, 1, {10, 12, 2, 16}}}) {
    CAPTURE(c.type);
    CAPTURE(c.scale);
    OnnxBuilder file(21);
    file.input("x", {1, 4});
    scale(file, "s", 0.5f, c.type, c.first);
    scale(file, "t", c.scale, c.type, c.second);
    file.integers("shape", {4});
    file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
    file.node("Reshape", {"q", "shape"}, "m");
    file.node("DequantizeLinear", {"m", "t", "t0"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), {1, 2, -3, 4}) == c.expected);
  }
  OnnxBuilder file(21);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT16, 0);
  scale(file, "t", 1, Type::INT16, 0);
  file.node("QuantizeLinear", {"x", "s", "s0"}, "a");
  file.node("QuantizeLinear", {"x", "t", "t0"}, "b");
  set(file.node("Concat", {"a", "b"}, "c"), "axis", int64_t{1});
  file.node("DequantizeLinear", {"c", "s", "s0"}, "y");
  file.output("y");
  CHECK(Import(file.bytes()).says("its codes come from several scales"));
}

TEST_CASE("int8 codes do not become reals by a scale that no model holds") {
  OnnxBuilder file(21);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::INT8, 0);
  scale(file, "t", 3e20f, Type::INT8, 0);
  file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
  file.node("DequantizeLinear", {"q", "t", "t0"}, "y");
  file.output("y");
  Import import(file.bytes());
  CHECK(import.says("node 'y_node' (DequantizeLinear): its scale 3e+20 is above the limit of 2^40"));
}

TEST_CASE("a computed zero point has the type that its operator gives") {
  for (const char* op : {"ConstantOfShape", "Where"}) {
    CAPTURE(op);
    OnnxBuilder file(21);
    file.input("x", {1, 4});
    file.floats("s", {}, {1});
    if (*op == 'C') {
      file.integers("shape", {});
      auto& node = file.node(op, {"shape"}, "z");
      auto& value = node.attribute.add();
      value.name = "value";
      value.type = onnx_file::AttributeProto::TENSOR;
      value.t.make().data_type = Type::UINT8;
      value.t.make().dims.push_back(1);
      value.t.make().int32_data.push_back(0);
    } else {
      codes(file, "condition", {}, Type::BOOL, {1});
      codes(file, "zero", {}, Type::UINT8, {0});
      file.node(op, {"condition", "zero", "zero"}, "z");
    }
    file.node("QuantizeLinear", {"x", "s", "z"}, "q");
    file.node("DequantizeLinear", {"q", "s", "z"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), {-5, 100, 200, 300}) == std::vector<float>{0, 100, 200, 255});
  }
  OnnxBuilder file(21);
  file.input("x", {1, 4});
  file.floats("s", {}, {1});
  codes(file, "c", {}, Type::UINT8, {3});
  file.node("Equal", {"c", "c"}, "z");  // a truth value, of whatever codes
  file.node("QuantizeLinear", {"x", "s", "z"}, "y");
  file.output("y");
  CHECK(Import(file.bytes()).says("its zero point 'z' is bool here, which says no type of codes"));
}

TEST_CASE("constants of 4 bits go through operators of constants") {
  OnnxBuilder file(21);
  file.input("x", {4, 2});
  codes(file, "w", {2, 4}, Type::UINT8, {0xf1, 0x28, 0x97, 0x70});
  file.graph().initializer[0].data_type = 22;
  file.floats("s", {}, {0.5f});
  set(file.node("Transpose", {"w"}, "t"), "perm", std::vector<int64_t>{1, 0});
  file.node("DequantizeLinear", {"t", "s"}, "d");
  file.node("Add", {"x", "d"}, "y");
  file.output("y");
  // Codes 1, -1, -8, 2 and 7, -7, 0, 7.
  CHECK(run_file(file.bytes(), std::vector<float>(8, 0.0f)) ==
        std::vector<float>{0.5f, 3.5f, -0.5f, -3.5f, -4, 0, 1, 3.5f});
}

TEST_CASE("255 levels end at both ends of their range") {
  OnnxBuilder file(13);
  file.input("x", {1, 4});
  file.floats("low", {}, {-127});
  file.floats("high", {}, {127});
  auto& node = file.node("FakeQuantize", {"x", "low", "high", "low", "high"}, "y");
  node.domain = "org.openvinotoolkit";
  set(node, "levels", int64_t{255});
  file.output("y");
  CHECK(run_file(file.bytes(), {-500, -127, 3, 500}) == std::vector<float>{-127, -127, 3, 127});
}

TEST_CASE("constants that are quantized to 4 bits, in blocks too") {
  for (const bool blocks : {false, true}) {
    CAPTURE(blocks);
    OnnxBuilder file(21);
    file.input("x", {2, 3});
    file.floats("c", {2, 3}, {1, -1, -8, 2, 7, 100});
    const std::vector<int64_t> dims = blocks ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{};
    file.floats("s", dims, blocks ? std::vector<float>{1, 2, 0.5f, 4} : std::vector<float>{1});
    for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) {
      const bool quantizes = *op == 'Q';
      auto& node = file.node(op, {quantizes ? "c" : "q", "s"}, quantizes ? "q" : "d");
      if (quantizes) set(node, "output_dtype", int64_t{22});
      set(node, "axis", int64_t{1});
      if (blocks) set(node, "block_size", int64_t{2});
    }
    file.node("Add", {"x", "d"}, "y");
    file.output("y");
    // Codes end at -8 and 7.
    CHECK(run_file(file.bytes(), std::vector<float>(6, 0.0f)) ==
          (blocks ? std::vector<float>{1, -1, -8, 2, 3.5f, 28} : std::vector<float>{1, -1, -8, 2, 7, 7}));
  }
}

// NNCF signs a scale so that the largest weight of a channel is the code -128.
TEST_CASE("weights may have scales with a sign; activations have none") {
  OnnxBuilder file(21);
  file.input("x", {1, 2});
  file.floats("s", {2}, {0.5f, -0.25f});
  codes(file, "w", {2, 2}, Type::INT8, {-128, 3, 1, -128});
  set(file.node("DequantizeLinear", {"w", "s"}, "real"), "axis", int64_t{0});
  file.node("MatMul", {"x", "real"}, "y");
  file.output("y");
  CHECK(run_file(file.bytes(), {1, 4}) == std::vector<float>{-65, 129.5f});

  OnnxBuilder blocks(21);
  blocks.input("x", {1, 4});
  blocks.floats("s", {2, 1}, {0.5f, -2});
  codes(blocks, "w", {4, 1}, Type::INT8, {1, 2, 3, -128});
  auto& node = blocks.node("DequantizeLinear", {"w", "s"}, "real");
  set(node, "axis", int64_t{0});
  set(node, "block_size", int64_t{2});
  blocks.node("MatMul", {"x", "real"}, "y");
  blocks.output("y");
  CHECK(run_file(blocks.bytes(), {2, 2, 1, 1}) == std::vector<float>{253});

  OnnxBuilder activation(21);
  activation.input("x", {1, 2});
  scale(activation, "s", -0.5f, Type::INT8, 0);
  quantize(activation, "x", "s", "y");
  activation.output("y");
  Import import(activation.bytes());
  CHECK_FALSE(import.good());
  CHECK(import.message().find("the scale -0.5 is not within") != std::string::npos);
}

// ONNX divides in float: the largest weight of a channel whose scale is its 7.5th part may be rounded to either side.
TEST_CASE("constants are quantized by a division in float") {
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    const float w = -1.0f - static_cast<float>(random.between(0, 1 << 20)) * 0x1p-20f, s = -w / 7.5f;
    OnnxBuilder file(21);
    file.input("x", {1, 1});
    file.floats("w", {1, 1}, {w});
    scale(file, "s", s, Type::INT8, 0);
    quantize(file, "w", "s", "real");
    file.node("MatMul", {"x", "real"}, "y");
    file.output("y");
    CHECK(run_file(file.bytes(), {1}) == std::vector<float>{std::nearbyint(w / s) * s});
  }
}

}  // namespace intaglio::test::import_onnx_code_types_test
