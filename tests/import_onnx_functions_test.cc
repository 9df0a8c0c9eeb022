// ONNX operators of one or two tensors: arithmetic, activations, and activations spelled out.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

void check_close(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - expected[i]) <= 1e-5);
}

double hard_swish(double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }

std::vector<Op> ops_of(OnnxBuilder& file) {
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  return import.ops();
}

}  // namespace

TEST_CASE("Sub, Mul, Div with constants on either side, broadcast") {
  const struct {
    const char* op;
    bool constant_first;
    double (*function)(double x, double c);
  } cases[] = {{"Sub", false, [](double x, double c) { return x - c; }},
               {"Sub", true, [](double x, double c) { return c - x; }},
               {"Mul", true, [](double x, double c) { return x * c; }},
               {"Div", false, [](double x, double c) { return x / c; }}};
  Random random(4);
  for (const auto& c : cases) {
    CAPTURE(std::string(c.op));
    OnnxBuilder file(13);
    file.input("x", {2, 3});
    const std::vector<float> constant{2, -3, 5}, x = random.reals(6, -2, 2);
    file.floats("c", {3}, constant);
    c.constant_first ? file.node(c.op, {"c", "x"}, "y") : file.node(c.op, {"x", "c"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    std::vector<double> expected;
    for (size_t i = 0; i < 6; ++i) expected.push_back(c.function(x[i], constant[i % 3]));
    check_close(run_import<float>(import, x), expected);
  }
}

TEST_CASE("a gate of one value a channel multiplies a picture without a Transpose") {
  Random random(6);
  OnnxBuilder file(13);
  file.input("x", {1, 3, 4, 4});
  file.floats("w", {3, 3, 1, 1}, random.reals(9, -1, 1));
  file.node("Conv", {"x", "w"}, "c");
  file.node("GlobalAveragePool", {"c"}, "g");
  file.node("Sigmoid", {"g"}, "s");
  file.node("Mul", {"c", "s"}, "m");
  file.node("GlobalAveragePool", {"m"}, "p");
  file.node("Flatten", {"p"}, "y");
  CHECK(ops_of(file) ==
        std::vector<Op>{Op::kConv2d, Op::kMean, Op::kSigmoid, Op::kMul, Op::kMean, Op::kReshape});
}

TEST_CASE("activations") {
  const std::vector<float> x{-4, -1, -0.5f, 0, 0.5f, 2, 3, 5};
  const struct {
    const char* op;
    double (*function)(double x);
  } cases[] = {{"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
               {"Tanh", [](double v) { return std::tanh(v); }},
               {"HardSwish", hard_swish},
               {"HardSigmoid", [](double v) { return std::min(std::max(0.2 * v + 0.5, 0.0), 1.0); }},
               {"LeakyRelu", [](double v) { return v > 0 ? v : 0.01 * v; }},
               {"Abs", [](double v) { return std::fabs(v); }}};
  for (const auto& c : cases) {
    CAPTURE(std::string(c.op));
    OnnxBuilder file(14);
    file.input("x", {1, 8});
    file.node(c.op, {"x"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    std::vector<double> expected;
    for (const float v : x) expected.push_back(c.function(v));
    check_close(run_import<float>(import, x), expected);
  }
}

TEST_CASE("PRelu has a slope for each channel, whatever the layout") {
  OnnxBuilder file(13);
  file.input("x", {1, 2, 1, 2});
  file.floats("slope", {2, 1, 1}, {0.5f, 2});
  file.node("PRelu", {"x", "slope"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  check_close(run_import<float>(import, std::vector<float>{-1, -2, 3, -4}),
              {-0.5, 3, -4, -8});  // NHWC in, NCHW out
}

TEST_CASE("Swish, HardSigmoid and HardSwish spelled out become one node") {
  OnnxBuilder swish(13);
  swish.input("x", {1, 8});
  swish.node("Sigmoid", {"x"}, "s");
  swish.node("Mul", {"s", "x"}, "y");
  CHECK(ops_of(swish) == std::vector<Op>{Op::kSwish});
  for (const bool divides_last : {false, true}) {
    OnnxBuilder file(13);
    file.input("x", {1, 8});
    file.floats("three", {}, {3});
    file.floats("six", {}, {6});
    file.floats("zero", {}, {0});
    file.node("Add", {"x", "three"}, "a");
    file.node("Clip", {"a", "zero", "six"}, "c");
    if (divides_last) {
      file.node("Mul", {"x", "c"}, "m");
      file.node("Div", {"m", "six"}, "y");
    } else {
      file.node("Div", {"c", "six"}, "d");
      file.node("Mul", {"x", "d"}, "y");
    }
    CHECK(ops_of(file) == std::vector<Op>{Op::kHardSwish});
  }
}
