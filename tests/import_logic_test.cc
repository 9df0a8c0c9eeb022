// Comparisons, logic, choices, powers and what is built of them, in ONNX and TFLite.
#include <limits>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/run_widths.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_logic_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kLeast = -std::numeric_limits<float>::max();  // of a constant that is -infinity
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void check_close(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    CHECK((std::fabs(expected[i]) > 1e30 ? got[i] == expected[i] : std::fabs(got[i] - expected[i]) <= 1e-5));
}

std::vector<float> run(Import& import, const std::vector<std::vector<float>>& inputs) {
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  for (size_t i = 0; i < inputs.size(); ++i) model.set_input(inputs[i], static_cast<int32_t>(i));
  model.session().run();
  return model.output<float>();
}

struct Attribute {
  const char* name;
  float real;
  int64_t integer;
  bool is_real;
};
Attribute real(const char* name, float value) { return {name, value, 0, true}; }
Attribute integer(const char* name, int64_t value) { return {name, 0.0f, value, false}; }

void set(OnnxBuilder::Node& node, const std::vector<Attribute>& attributes) {
  for (const Attribute& a : attributes) {
    auto& made = node.attribute.add();
    made.name = a.name;
    made.type = a.is_real ? onnx_file::AttributeProto::FLOAT : onnx_file::AttributeProto::INT;
    if (a.is_real)
      made.f = a.real;
    else
      made.i = a.integer;
  }
}

// One operator of one input.
std::vector<float> one(const char* op, const std::vector<int64_t>& dims, const std::vector<float>& x,
                       const std::vector<Attribute>& attributes = {}) {
  OnnxBuilder file(16);
  file.input("x", dims);
  set(file.node(op, {"x"}, "y"), attributes);
  file.output("y");
  Import import(file.bytes());
  return run(import, {x});
}

// One operator of two inputs.
std::vector<float> two(const char* op, const std::vector<float>& a, const std::vector<float>& b,
                       const std::vector<Attribute>& attributes = {}) {
  OnnxBuilder file(16);
  file.input("a", {static_cast<int64_t>(a.size())});
  file.input("b", {static_cast<int64_t>(b.size())});
  set(file.node(op, {"a", "b"}, "y"), attributes);
  file.output("y");
  Import import(file.bytes());
  return run(import, {a, b});
}

}  // namespace

TEST_CASE("comparisons and logic of two activations") {
  const std::vector<float> a{1, 2, 3, -1}, b{2, 2, 2, -1};
  check_close(two("Equal", a, b), {0, 1, 0, 1});
  check_close(two("Less", a, b), {1, 0, 0, 0});
  check_close(two("LessOrEqual", a, b), {1, 1, 0, 1});
  check_close(two("Greater", a, b), {0, 0, 1, 0});
  check_close(two("GreaterOrEqual", a, b), {0, 1, 1, 1});
  const std::vector<float> p{0, 0, 1, 1}, q{0, 1, 0, 1};
  check_close(two("And", p, q), {0, 0, 0, 1});
  check_close(two("Or", p, q), {0, 1, 1, 1});
  check_close(two("Xor", p, q), {0, 1, 1, 0});
  check_close(one("Not", {4}, p), {1, 1, 0, 0});
  check_close(one("IsNaN", {3}, {1, kNan, kInf}), {0, 1, 0});
  check_close(one("IsInf", {4}, {1, kNan, kInf, -kInf}), {0, 0, 1, 1});
  check_close(one("IsInf", {4}, {1, kNan, kInf, -kInf}, {integer("detect_negative", 0)}), {0, 0, 1, 0});
  check_close(one("IsInf", {4}, {1, kNan, kInf, -kInf}, {integer("detect_positive", 0)}), {0, 0, 0, 1});
}

TEST_CASE("a comparison with integers, and a cast to truth values") {
  OnnxBuilder file(16);
  file.input("x", {4});
  file.integers("limits", {0, 1, 2, 3});
  file.node("Less", {"limits", "x"}, "y");
  file.output("y");
  Import import(file.bytes());
  check_close(run(import, {{0.5f, 0.5f, 2, 4}}), {1, 0, 0, 1});
  OnnxBuilder large(16);
  large.input("x", {1});
  large.integers("c", {16777217});
  large.node("Equal", {"x", "c"}, "y");
  large.output("y");
  CHECK(Import(large.bytes()).says("constant 'c' holds 16777217, which float does not hold"));
  check_close(one("Cast", {3}, {0, -2, 0.5f}, {integer("to", 9)}), {0, 1, 1});
}

TEST_CASE("Where: truth values that are constants or computed, infinities, broadcast") {
  OnnxBuilder file(16);
  file.input("x", {2, 3});
  file.floats("zero", {}, {0});
  file.floats("low", {}, {-kInf});
  file.node("Greater", {"x", "zero"}, "c");
  file.node("Where", {"c", "x", "low"}, "y");
  file.output("y");
  Import computed(file.bytes());
  check_close(run(computed, {{1, -1, 2, -2, 3, 0}}), {1, kLeast, 2, kLeast, 3, kLeast});
  OnnxBuilder constant(16);
  constant.input("x", {2, 3});
  auto& truth = constant.floats("c", {3}, {});
  truth.data_type = onnx_file::TensorProto::BOOL;
  truth.raw_data.set(std::string("\1\0\1", 3));
  constant.floats("other", {2, 1}, {7, 8});
  constant.node("Where", {"c", "x", "other"}, "y");
  constant.output("y");
  Import import(constant.bytes());
  check_close(run(import, {{1, 2, 3, 4, 5, 6}}), {1, 7, 3, 4, 8, 6});
}

TEST_CASE("Mod by the divisor's sign and by the dividend's") {
  const std::vector<float> a{-4, 7, 5, 4, -7, 8}, b{2, -3, 8, -2, 3, 5};
  check_close(two("Mod", a, b), {0, -2, 5, 0, 2, 3});
  check_close(two("Mod", a, b, {integer("fmod", 1)}), {0, 1, 5, 0, -1, 3});
}

TEST_CASE("powers with any constant exponent") {
  for (const float exponent : {-2.0f, 0.0f, 0.3f, 1.5f, 2.7f, 4.0f, 0.49999976f}) {
    OnnxBuilder file(13);
    file.input("x", {3});
    file.floats("e", {}, {exponent});
    file.node("Pow", {"x", "e"}, "y");
    file.output("y");
    Import import(file.bytes());
    std::vector<double> expected;
    for (const double v : {0.5, 1.0, 1.7}) expected.push_back(std::pow(v, static_cast<double>(exponent)));
    check_close(run(import, {{0.5f, 1.0f, 1.7f}}), expected);
    CHECK(import.count(Op::kSqrt) == (exponent == 0.49999976f ? 1 : 0));
  }
}

TEST_CASE("functions that few networks have, with ONNX's own defaults") {
  const std::vector<float> x{-2, -0.5f, 0, 0.7f, 2.5f};
  const struct {
    const char* op;
    double (*function)(double x);
  } cases[] = {{"Floor", [](double v) { return std::floor(v); }},
               {"Ceil", [](double v) { return std::ceil(v); }},
               {"Round", [](double v) { return std::nearbyint(v); }},
               {"Sign", [](double v) { return v > 0   ? 1.0
                                              : v < 0 ? -1.0
                                                      : 0.0; }},
               {"Sin", [](double v) { return std::sin(v); }},
               {"Cos", [](double v) { return std::cos(v); }},
               {"Softsign", [](double v) { return v / (1 + std::fabs(v)); }},
               {"Selu", [](double v) { return 1.05070102 * (v > 0 ? v : 1.67326319 * std::expm1(v)); }},
               {"Celu", [](double v) { return v > 0 ? v : std::expm1(v); }},
               {"ThresholdedRelu", [](double v) { return v > 1 ? v : 0.0; }},
               {"Shrink", [](double v) { return v < -0.5  ? v
                                                : v > 0.5 ? v
                                                          : 0.0; }}};
  for (const auto& c : cases) {
    CAPTURE(std::string(c.op));
    std::vector<double> expected;
    for (const float v : x) expected.push_back(c.function(static_cast<double>(v)));
    check_close(one(c.op, {5}, x), expected);
  }
  check_close(one("Shrink", {5}, x, {real("lambd", 1.0f), real("bias", 1.5f)}), {-0.5, 0, 0, 0, 1});
}

TEST_CASE("functions of angles, their inverses and the hyperbolic ones") {
  const std::vector<float> any{-30, -2, -1, -0.3f, 0, 1e-3f, 0.7f, 1, 5, 1e6f},
      within{-1, -0.99f, -0.5f, 0, 0.01f, 0.8f, 1}, small{-3, -1, -0.01f, 0, 0.5f, 2.5f},
      inside{-0.999f, -0.5f, 0, 0.3f, 0.99f}, above{1, 1.001f, 2, 50};
  const struct {
    const char* op;
    double (*function)(double x);
    const std::vector<float>& x;
  } cases[] = {{"Atan", [](double v) { return std::atan(v); }, any},
               {"Asin", [](double v) { return std::asin(v); }, within},
               {"Acos", [](double v) { return std::acos(v); }, within},
               {"Tan", [](double v) { return std::tan(v); }, small},
               {"Sinh", [](double v) { return std::sinh(v); }, small},
               {"Cosh", [](double v) { return std::cosh(v); }, small},
               {"Asinh", [](double v) { return std::asinh(v); }, any},
               {"Acosh", [](double v) { return std::acosh(v); }, above},
               {"Atanh", [](double v) { return std::atanh(v); }, inside}};
  for (const auto& c : cases) {
    CAPTURE(std::string(c.op));
    std::vector<double> expected;
    for (const float v : c.x) expected.push_back(c.function(static_cast<double>(v)));
    check_close(one(c.op, {static_cast<int64_t>(c.x.size())}, c.x), expected);
  }
}

TEST_CASE("powers of two tensors, and of one number") {
  OnnxBuilder file(13);
  file.input("x", {3});
  file.input("p", {3});
  file.node("Pow", {"x", "p"}, "y");
  file.output("y");
  Import import(file.bytes());
  check_close(run(import, {{1, 2, 9}, {5, -1, 0.5f}}), {1, 0.5, 3});
  OnnxBuilder two(13);
  two.input("x", {3});
  two.floats("base", {}, {2});
  two.node("Pow", {"base", "x"}, "y");
  two.output("y");
  Import of_two(two.bytes());
  check_close(run(of_two, {{0, -1, 3.5f}}), {1, 0.5, 11.3137085});
  OnnxBuilder below(13);
  below.input("x", {3});
  below.floats("base", {}, {-2});
  below.node("Pow", {"base", "x"}, "y");
  below.output("y");
  CHECK(Import(below.bytes()).says("its bases are constants; one above 0 is supported"));
}

TEST_CASE("powers of constant exponents, of bases of any sign") {
  struct Case {
    std::vector<float> x, exponents;
    std::vector<int64_t> dims;
    std::vector<double> expected;
  };
  for (const Case& c :
       {Case{{-3, 0, 2}, {2, 2, 2}, {3}, {9, 0, 4}}, Case{{-3, 0, 2}, {2, 3, 0}, {3}, {9, 0, 1}},
        Case{{-3, 0, 4}, {-1, 0, 0.5f}, {3}, {-1.0 / 3, 1, 2}}, Case{{-2}, {1, 2, 3}, {3}, {-2, 4, -8}},
        Case{{-2}, {2, 2}, {2}, {4, 4}}, Case{{-3, 2}, {2}, {1, 1}, {9, 4}}}) {
    OnnxBuilder file(13);
    file.input("x", {static_cast<int64_t>(c.x.size())});
    file.floats("e", c.dims, c.exponents);
    file.node("Pow", {"x", "e"}, "y");
    file.output("y");
    Import import(file.bytes());
    check_close(run(import, {c.x}), c.expected);
    CHECK(import.output().shape.rank == static_cast<int32_t>(c.dims.size()));
    CHECK(import.outcome->report.notes.empty());
  }
  OnnxBuilder file(13);
  file.input("x", {9});
  file.floats("e", {9}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  file.node("Pow", {"x", "e"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.notes(
      "node 'y_node' (Pow): its exponents are many different numbers; bases above 0 alone have a power here"));
}

TEST_CASE("functions of angles and hyperbolic ones keep their bits near 0, near 1 and far out") {
  const std::vector<float> near{-1e-30f, -1e-4f, 1e-7f, 3e-3f, 0.02f}, far{1e10f, 1e20f, -8e37f},
      above{1 + 0x1p-23f, 1.0001f, 1.01f, 3, 1e20f, 8e37f}, below{1 - 0x1p-24f, 0.9999f, -0.99f},
      angles{0.99999f, 0.999f, 0.1f, -0.5f}, powers{20, -60, 89};
  const struct {
    const char* op;
    double (*function)(double x);
    std::vector<const std::vector<float>*> x;
  } cases[] = {{"Atan", [](double v) { return std::atan(v); }, {&near, &above, &below, &far}},
               {"Asin", [](double v) { return std::asin(v); }, {&near, &below}},
               {"Acos", [](double v) { return std::acos(v); }, {&angles, &near}},
               {"Sinh", [](double v) { return std::sinh(v); }, {&near, &powers}},
               {"Cosh", [](double v) { return std::cosh(v); }, {&near, &powers}},
               {"Asinh", [](double v) { return std::asinh(v); }, {&near, &above, &far}},
               {"Acosh", [](double v) { return std::acosh(v); }, {&above}},
               {"Atanh", [](double v) { return std::atanh(v); }, {&near, &below}}};
  for (const auto& c : cases)
    for (const std::vector<float>* const x : c.x) {
      CAPTURE(std::string(c.op));
      const std::vector<float> y = one(c.op, {static_cast<int64_t>(x->size())}, *x);
      for (size_t i = 0; i < x->size(); ++i) {
        const double v = static_cast<double>((*x)[i]), exact = c.function(v);
        CHECK(std::fabs(static_cast<double>(y.at(i)) - exact) <= 1e-6 * std::fabs(exact));
      }
    }
}

TEST_CASE("Clip with a bound that is computed") {
  OnnxBuilder file(13);
  file.input("x", {4});
  file.input("low", {1});
  file.floats("high", {}, {2});
  file.node("Clip", {"x", "low", "high"}, "y");
  file.output("y");
  Import import(file.bytes());
  check_close(run(import, {{-3, 0, 1, 5}, {-1}}), {-1, 0, 1, 2});
}

TEST_CASE("sides of matrices, products over an axis, norms over channels and windows") {
  OnnxBuilder file(14);
  file.input("x", {2, 3});
  file.integers("k", {1});
  file.node("Trilu", {"x", "k"}, "y");
  file.output("y");
  Import import(file.bytes());
  check_close(run(import, {{1, 2, kInf, kNan, 5, 6}}), {0, 2, kInf, 0, 0, 6});
  check_close(one("ReduceProd", {2, 3}, {1, 2, 3, 4, 5, 6}), {720});
  check_close(one("GlobalLpPool", {1, 2, 2}, {3, -4, 6, 8}), {5, 10});
  // Two neighbours at most: 1 / (1 + (0.5 / 3) * sum of squares)^0.5
  const std::vector<float> x{1, 2, 3};
  std::vector<double> expected;
  for (size_t c = 0; c < 3; ++c) {
    double sum = 0.0;
    for (size_t i = c > 0 ? c - 1 : 0; i < std::min<size_t>(c + 2, 3); ++i)
      sum += static_cast<double>(x[i] * x[i]);
    expected.push_back(static_cast<double>(x[c]) / std::sqrt(1.0 + 0.5 / 3.0 * sum));
  }
  check_close(one("LRN", {1, 3, 1, 1}, x, {real("alpha", 0.5f), real("beta", 0.5f), integer("size", 3)}),
              expected);
  OnnxBuilder pool(18);
  pool.input("x", {1, 1, 4});
  auto& kernel = pool.node("LpPool", {"x"}, "y").attribute.add();
  kernel.name = "kernel_shape";
  kernel.type = onnx_file::AttributeProto::INTS;
  kernel.ints.push_back(2);
  pool.output("y");
  Import pooled(pool.bytes());
  check_close(run(pooled, {{3, 4, 0, 5}}), {5, 4, 5});
}

TEST_CASE("Pad by the other end, and below 0") {
  const auto pad = [](const char* mode, const std::vector<int64_t>& pads) {
    OnnxBuilder file(19);
    file.input("x", {4});
    file.integers("pads", pads);
    auto& attribute = file.node("Pad", {"x", "pads"}, "y").attribute.add();
    attribute.name = "mode";
    attribute.type = onnx_file::AttributeProto::STRING;
    attribute.s = mode;
    file.output("y");
    Import import(file.bytes());
    return run(import, {{1, 2, 3, 4}});
  };
  check_close(pad("wrap", {5, 1}), {4, 1, 2, 3, 4, 1, 2, 3, 4, 1});
  check_close(pad("constant", {-1, 2}), {2, 3, 4, 0, 0});
  check_close(pad("constant", {-1, -2}), {2});
  check_close(pad("edge", {1, -2}), {1, 1, 2});
}

TEST_CASE("TFLite: comparisons, choices and truth values") {
  constexpr int8_t kBool = 6;
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 2});
  const int32_t limit = file.constant("limit", kTfliteFloat, {1}, std::vector<float>{1});
  const int32_t c = file.tensor("c", kBool, {2, 2}), n = file.tensor("n", kBool, {2, 2});
  const int32_t mask = file.constant("mask", kBool, {1, 2}, std::vector<uint8_t>{1, 0});
  const int32_t both = file.tensor("both", kBool, {2, 2}), y = file.tensor("y", kTfliteFloat, {2, 2});
  file.op(61, {x, limit}, {c});         // GREATER
  file.op(87, {c}, {n});                // LOGICAL_NOT
  file.op(86, {n, mask}, {both});       // LOGICAL_AND
  file.op(123, {both, limit, x}, {y});  // SELECT_V2
  Import import(file.finish({x}, {y}));
  check_close(run(import, {{0, 0, 3, 4}}), {1, 0, 3, 4});

  TfliteBuilder codes;
  const int32_t p = codes.tensor("p", kTfliteInt8, {4}, TfliteScales{{0.5f}});
  const int32_t q =
      codes.constant("q", kTfliteInt8, {4}, std::vector<int8_t>{4, 4, 4, 4}, TfliteScales{{0.25f}});
  const int32_t less = codes.tensor("less", kBool, {4});
  const int32_t r = codes.tensor("r", kTfliteInt8, {4}, TfliteScales{{0.5f}});
  codes.op(58, {p, q}, {less});     // LESS
  codes.op(64, {less, p, q}, {r});  // SELECT
  Import quantized(codes.finish({p}, {r}));
  REQUIRE_MESSAGE(quantized.good(), quantized.message());
  CHECK(run_import<int8_t>(quantized, std::vector<int8_t>{1, 2, 3, -5}) == std::vector<int8_t>{1, 2, 2, -5});
}

TEST_CASE("TFLite: quotients of integers, functions and powers") {
  const auto one_op = [](int32_t code, const std::vector<float>& x, const std::vector<float>& second) {
    TfliteBuilder file;
    const auto n = static_cast<int32_t>(x.size());
    const int32_t in = file.tensor("x", kTfliteFloat, {n}), y = file.tensor("y", kTfliteFloat, {n});
    std::vector<int32_t> inputs{in};
    if (!second.empty())
      inputs.push_back(file.constant("s", kTfliteFloat, {static_cast<int32_t>(second.size())}, second));
    file.op(code, inputs, {y});
    Import import(file.finish({in}, {y}));
    return run(import, {x});
  };
  check_close(one_op(90, {7, -7, 6}, {2}), {3, -4, 3});                    // FLOOR_DIV
  check_close(one_op(95, {7, -7, 6}, {4}), {3, 1, 2});                     // FLOOR_MOD
  check_close(one_op(78, {1, 4, 9}, {1.5f}), {1, 8, 27});                  // POW
  check_close(one_op(8, {1.5f, -1.5f}, {}), {1, -2});                      // FLOOR
  check_close(one_op(104, {1.5f, -1.5f}, {}), {2, -1});                    // CEIL
  check_close(one_op(116, {1.5f, 2.5f}, {}), {2, 2});                      // ROUND
  check_close(one_op(66, {1, -2}, {}), {std::sin(1.0), std::sin(-2.0)});   // SIN
  check_close(one_op(108, {1, -2}, {}), {std::cos(1.0), std::cos(-2.0)});  // COS
  check_close(one_op(158, {1.5f, -2, 0}, {}), {1, -1, 0});                 // SIGN
}

}  // namespace intaglio::test::import_logic_test
