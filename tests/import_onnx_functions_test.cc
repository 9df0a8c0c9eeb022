// ONNX operators of one or two tensors: arithmetic, activations, and activations spelled out.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::import_onnx_functions_test {
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

TEST_CASE("PRelu has slopes of any shape that repeats, at any rank, also computed ones") {
  const struct {
    std::vector<int64_t> x, slopes;
    bool is_one_node;
  } cases[] = {{{6}, {6}, true},
               {{2, 3}, {3}, true},
               {{2, 3}, {2, 1}, true},
               {{1, 3, 5}, {3, 1}, true},
               {{1, 3, 5}, {1, 3, 1}, true},
               {{1, 3, 5}, {5}, true},
               {{1, 3, 5}, {1}, true},
               {{1, 3, 5}, {1, 1, 1}, true},
               {{1, 3, 5}, {3, 5}, false},
               {{1, 2, 3, 4}, {4}, true},
               {{1, 2, 3, 4}, {3, 1}, true},
               {{1, 2, 3, 4}, {2, 3, 4}, false},
               {{1, 2, 3, 4}, {2, 1, 4}, false},
               {{1, 2, 3, 4, 2}, {2, 1, 1, 1}, true},
               {{1, 2, 3, 4, 2}, {4, 2}, false}};
  const auto count_of = [](const std::vector<int64_t>& dims) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    return count;
  };
  Random random(8);
  for (const auto& c : cases)
    for (const bool computed : {false, true}) {
      CAPTURE(shape_text(c.x));
      CAPTURE(shape_text(c.slopes));
      const size_t count = count_of(c.x);
      const std::vector<float> slopes = random.reals(count_of(c.slopes), -2, 2);
      std::vector<float> x = random.reals(count, -3, 3);
      OnnxBuilder file(16);
      file.input("in", {static_cast<int64_t>(count)});
      file.integers("shape", c.x);
      file.integers("flat", {-1});
      file.floats("slopes", c.slopes, slopes);
      file.node("Reshape", {"in", "shape"}, "x");
      if (computed) {  // slopes + 0 * x[0]
        file.integers("first", {0});
        file.floats("zero", {}, {0});
        file.node("Gather", {"in", "first"}, "one");
        file.node("Mul", {"one", "zero"}, "none");
        file.node("Add", {"slopes", "none"}, "run_slopes");
      }
      file.node("PRelu", {"x", computed ? "run_slopes" : "slopes"}, "bent");
      file.node("Reshape", {"bent", "flat"}, "y");
      file.output("y");
      Import import(file.bytes());
      REQUIRE_MESSAGE(import.good(), import.message());
      if (!computed) CHECK((import.count(Op::kPRelu) + import.count(Op::kLeakyRelu) == 1) == c.is_one_node);
      // Where each element's slope lies: axes of size 1 are repeated.
      std::vector<double> expected;
      for (size_t i = 0; i < count; ++i) {
        size_t rest = i, at = 0, step = 1;
        for (size_t d = c.x.size(), s = c.slopes.size(); d-- > 0;) {
          const size_t place = rest % static_cast<size_t>(c.x[d]);
          rest /= static_cast<size_t>(c.x[d]);
          if (s == 0) continue;
          const auto size = static_cast<size_t>(c.slopes[--s]);
          at += size == 1 ? 0 : place * step;
          step *= size;
        }
        expected.push_back(x[i] > 0 ? x[i] : double{x[i]} * slopes[at]);
      }
      check_close(run_import<float>(import, x), expected);
    }
}

TEST_CASE("PRelu: slopes that do not repeat to the input are refused") {
  OnnxBuilder file(13);
  file.input("x", {1, 3, 5});
  file.floats("slope", {4, 1}, {1, 2, 3, 4});
  file.node("PRelu", {"x", "slope"}, "y");
  file.output("y");
  CHECK_FALSE(Import(file.bytes()).good());
  OnnxBuilder larger(13);
  larger.input("x", {1, 1, 5});
  larger.floats("slope", {2, 1}, {1, 2});
  larger.node("PRelu", {"x", "slope"}, "y");
  larger.output("y");
  Import import(larger.bytes());
  REQUIRE_FALSE(import.good());
  CHECK(import.message().find("does not repeat") != std::string::npos);
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

namespace {

// One operator on x, and what its result must be.
std::vector<float> run_ops(OnnxBuilder& file, const std::vector<float>& x) {
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<float>(import, x);
}

}  // namespace

TEST_CASE("functions of one variable, powers, and bounds of any number") {
  const std::vector<float> x{0.25f, 0.5f, 1, 1.5f, 2, 3, 4, 9};
  const struct {
    const char* op;
    double (*function)(double x);
  } cases[] = {{"Sqrt", [](double v) { return std::sqrt(v); }},
               {"Reciprocal", [](double v) { return 1 / v; }},
               {"Log", [](double v) { return std::log(v); }},
               {"Erf", [](double v) { return std::erf(v); }},
               {"Softplus", [](double v) { return std::log1p(std::exp(v)); }},
               {"Mish", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
               {"Neg", [](double v) { return -v; }},
               {"Gelu", [](double v) { return v * std::erfc(-v / std::sqrt(2.0)) / 2; }}};
  for (const auto& c : cases) {
    CAPTURE(std::string(c.op));
    OnnxBuilder file(20);
    file.input("x", {1, 8});
    file.node(c.op, {"x"}, "y");
    std::vector<double> expected;
    for (const float v : x) expected.push_back(c.function(v));
    check_close(run_ops(file, x), expected);
  }
  for (const double exponent : {-1.0, -0.5, 0.5, 1.0, 2.0, 3.0}) {
    CAPTURE(exponent);
    OnnxBuilder file(13);
    file.input("x", {1, 8});
    file.floats("e", {}, {static_cast<float>(exponent)});
    file.node("Pow", {"x", "e"}, "y");
    std::vector<double> expected;
    for (const float v : x) expected.push_back(std::pow(v, exponent));
    const std::vector<float> got = run_ops(file, x);
    for (size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(got[i] - expected[i]) <= 1e-6 * expected[i]);
  }
  OnnxBuilder bounds(13);
  bounds.input("x", {1, 8});
  bounds.floats("low", {}, {1});
  bounds.floats("high", {8}, {2, 2, 2, 2, 1, 1, 1, 1});
  bounds.node("Max", {"low", "x"}, "m");
  bounds.node("Min", {"m", "high"}, "y");
  CHECK(run_ops(bounds, x) == std::vector<float>{1, 1, 1, 1.5f, 1, 1, 1, 1});
}

TEST_CASE("GELU, Mish and division by the norm, spelled out, become one node") {
  const auto scalar = [](OnnxBuilder& file, const char* name, float value) {
    file.floats(name, {}, {value});
  };
  OnnxBuilder by_erf(13);
  by_erf.input("x", {1, 8});
  scalar(by_erf, "root", std::sqrt(2.0f));
  scalar(by_erf, "one", 1);
  scalar(by_erf, "half", 0.5f);
  by_erf.node("Div", {"x", "root"}, "a");
  by_erf.node("Erf", {"a"}, "b");
  by_erf.node("Add", {"one", "b"}, "c");
  by_erf.node("Mul", {"half", "x"}, "d");
  by_erf.node("Mul", {"c", "d"}, "y");
  CHECK(ops_of(by_erf) == std::vector<Op>{Op::kGelu});
  OnnxBuilder by_tanh(13);
  by_tanh.input("x", {1, 8});
  scalar(by_tanh, "three", 3);
  scalar(by_tanh, "cubic", 0.044715f);
  scalar(by_tanh, "factor", 0.7978846f);
  scalar(by_tanh, "one", 1);
  scalar(by_tanh, "half", 0.5f);
  by_tanh.node("Pow", {"x", "three"}, "p");
  by_tanh.node("Mul", {"cubic", "p"}, "q");
  by_tanh.node("Add", {"x", "q"}, "r");
  by_tanh.node("Mul", {"r", "factor"}, "s");
  by_tanh.node("Tanh", {"s"}, "t");
  by_tanh.node("Add", {"t", "one"}, "u");
  by_tanh.node("Mul", {"x", "u"}, "v");
  by_tanh.node("Mul", {"v", "half"}, "y");
  CHECK(ops_of(by_tanh) == std::vector<Op>{Op::kGeluTanh});
  OnnxBuilder mish(13);
  mish.input("x", {1, 8});
  mish.node("Softplus", {"x"}, "a");
  mish.node("Tanh", {"a"}, "b");
  mish.node("Mul", {"b", "x"}, "y");
  CHECK(ops_of(mish) == std::vector<Op>{Op::kMish});
  OnnxBuilder norm(13);
  norm.input("x", {2, 4});
  scalar(norm, "least", 0.5f);
  set(norm.node("ReduceL2", {"x"}, "n"), "axes", std::vector<int64_t>{1});
  norm.node("Clip", {"n", "least"}, "m");
  norm.node("Shape", {"x"}, "s");
  norm.node("Expand", {"m", "s"}, "e");
  norm.node("Div", {"x", "e"}, "y");
  norm.output("y");
  Import import(norm.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kL2Normalize});
  check_close(run_import<float>(import, std::vector<float>{1, 1, 1, 1, 0.1f, 0, 0, 0.2f}),
              {0.5, 0.5, 0.5, 0.5, 0.2, 0, 0, 0.4});
  // Another constant is another function.
  OnnxBuilder other(13);
  other.input("x", {1, 8});
  scalar(other, "root", 1.5f);
  scalar(other, "one", 1);
  scalar(other, "half", 0.5f);
  other.node("Div", {"x", "root"}, "a");
  other.node("Erf", {"a"}, "b");
  other.node("Add", {"b", "one"}, "c");
  other.node("Mul", {"x", "c"}, "d");
  other.node("Mul", {"d", "half"}, "y");
  CHECK(ops_of(other).size() > 1);
}

TEST_CASE("sums, norms and maxima over axes, with and without them kept") {
  const std::vector<float> x{1, -2, 3, -4, 5, -6, 7, -8};  // [1, 2, 2, 2]
  const auto reduce = [&](const char* op, const std::vector<int64_t>& axes) {
    OnnxBuilder file(17);
    file.input("x", {1, 2, 2, 2});
    if (std::string(op) == "ReduceSum") {
      file.integers("axes", axes);
      file.node(op, {"x", "axes"}, "y");
    } else {
      set(file.node(op, {"x"}, "y"), "axes", axes);
    }
    return run_ops(file, x);
  };
  CHECK(reduce("ReduceSum", {-1}) == std::vector<float>{-1, -1, -1, -1});
  CHECK(reduce("ReduceSum", {1, 2, 3}) == std::vector<float>{-4});
  CHECK(reduce("ReduceL1", {2, 3}) == std::vector<float>{10, 26});
  CHECK(reduce("ReduceSumSquare", {2, 3}) == std::vector<float>{30, 174});
  check_close(reduce("ReduceL2", {2, 3}), {std::sqrt(30.0), std::sqrt(174.0)});
}

TEST_CASE("a maximum over height and width is a pool, whatever it is called") {
  for (const bool global : {true, false}) {
    OnnxBuilder file(13);
    file.input("x", {1, 2, 2, 2});
    if (global)
      file.node("GlobalMaxPool", {"x"}, "y");
    else
      set(file.node("ReduceMax", {"x"}, "y"), "axes", std::vector<int64_t>{2, 3});
    CHECK(run_ops(file, {1, -5, 2, -6, 3, -7, 4, -8}) == std::vector<float>{4, -5});  // NHWC
  }
}

TEST_CASE("Tile, Expand, Pad by reflection, DepthToSpace") {
  OnnxBuilder tile(13);
  tile.input("x", {1, 2});
  tile.integers("n", {2, 2});
  tile.node("Tile", {"x", "n"}, "y");
  CHECK(run_ops(tile, {1, 2}) == std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2});
  OnnxBuilder expand(13);
  expand.input("x", {2, 1});
  expand.integers("n", {2, 1, 3});
  expand.node("Expand", {"x", "n"}, "y");
  CHECK(run_ops(expand, {1, 2}) == std::vector<float>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
  OnnxBuilder pad(13);
  pad.input("x", {1, 3});
  pad.integers("n", {0, 2, 0, 1});
  set(pad.node("Pad", {"x", "n"}, "y"), "mode", "reflect");
  CHECK(run_ops(pad, {1, 2, 3}) == std::vector<float>{3, 2, 1, 2, 3, 2});
  OnnxBuilder depth(13);
  depth.input("x", {1, 4, 1, 2});
  set(depth.node("DepthToSpace", {"x"}, "y"), "blocksize", int64_t{2});
  CHECK(run_ops(depth, {0, 1, 2, 3, 4, 5, 6, 7}) == std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7});  // NHWC in
}

TEST_CASE("shape arithmetic leaves no node") {
  OnnxBuilder file(13);
  file.input("x", {2, 3, 4});
  file.integers("zero", {0});
  file.integers("one", {1});
  file.integers("minus", {-1});
  file.node("Shape", {"x"}, "s");
  file.node("Gather", {"s", "zero"}, "b");
  file.node("ConstantOfShape", {"one"}, "c");
  set(file.node("Cast", {"c"}, "ci"), "to", int64_t{7});
  file.node("Equal", {"ci", "zero"}, "e");
  file.node("Where", {"e", "b", "minus"}, "w");
  file.node("Max", {"w", "one"}, "m");
  set(file.node("Concat", {"m", "minus"}, "t"), "axis", int64_t{0});
  file.node("Reshape", {"x", "t"}, "r");
  file.node("Relu", {"r"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kReshape, Op::kClamp});
  CHECK(import.dims(import.output()) == std::vector<int32_t>{2, 12});
}

TEST_CASE("Sum of constants alone is a constant; with an activation it is added") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.floats("a", {2}, {1, 2});
  file.floats("b", {1}, {10});
  file.floats("c", {1, 2}, {100, 200});
  file.node("Sum", {"a"}, "one");
  file.node("Sum", {"one", "b", "c"}, "all");
  file.node("Sum", {"b", "x", "all"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{1000, 2000}) == std::vector<float>{1121, 2222});
}

TEST_CASE("empty constants are joined, cut and shaped as any") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.floats("none", {0, 2}, {});
  file.floats("none3", {0, 3}, {});
  set(file.node("Concat", {"none", "none3"}, "nothing"), "axis", int64_t{1});
  file.integers("zero", {0});
  file.integers("one", {1});
  file.node("Slice", {"nothing", "zero", "one", "zero"}, "part");
  file.node("Shape", {"part"}, "dims");  // 0, 5
  file.node("Gather", {"dims", "one"}, "five");
  file.integers("two", {2});
  file.node("Concat", {"one", "two"}, "shape");
  set(file.graph().node[file.graph().node.count() - 1], "axis", int64_t{0});
  file.node("Expand", {"five", "shape"}, "fives");
  auto& cast = file.node("Cast", {"fives"}, "real");
  set(cast, "to", int64_t{1});
  file.node("Add", {"x", "real"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{1, 2}) == std::vector<float>{6, 7});
  OnnxBuilder huge;  // without its 0 it has more elements than 64 bits count
  huge.input("x", {1, 2});
  huge.floats("none", {0, 1 << 24, 1 << 24, 1 << 24}, {});
  set(huge.node("ReduceSum", {"none"}, "r"), "keepdims", int64_t{0});
  huge.node("Add", {"x", "r"}, "y");
  huge.output("y");
  Import refused(huge.bytes());
  CHECK(refused.says("node 'r_node' (ReduceSum): constant 'none': dimension 16777216 is not allowed"));
}

}  // namespace intaglio::test::import_onnx_functions_test
