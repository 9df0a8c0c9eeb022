// The ONNX importer on small files made in memory: numbers against plain NCHW operators, structure.
#include "tests/support/imported.h"
#include "tests/support/nchw_reference.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"
#include "tests/support/small_onnx_network.h"

namespace intaglio::test::import_onnx_test {
namespace {

Nchw random_picture(Random& random, int n, int c, int h, int w) {
  Nchw x(n, c, h, w);
  for (double& v : x.v) v = random.real(-1, 1);
  return x;
}

std::vector<int64_t> dims(const Nchw& x) { return {x.n, x.c, x.h, x.w}; }

void check_close(const std::vector<float>& got, const std::vector<float>& expected, double limit = 1e-4) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(std::fabs(got[i] - expected[i]) <= limit);
  }
}

// One convolution as a file.
OnnxBuilder conv_file(const Nchw& x, const Nchw& w, const std::vector<double>& bias) {
  OnnxBuilder file;
  file.input("x", dims(x));
  file.floats("w", dims(w), w.floats());
  file.floats("b", {static_cast<int64_t>(bias.size())}, {bias.begin(), bias.end()});
  return file;
}

// A file with one node from "x" to "y" whose result is given in NCHW.
std::vector<float> run_nchw(OnnxBuilder& file, const Nchw& x) {
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<float>(import, x.nhwc());
}

}  // namespace

TEST_CASE("convolutions: pads, strides, dilation, groups") {
  Random random(1);
  struct Case {
    int channels, outputs, groups, kernel, stride, dilation;
    Pads pads;
  };
  for (const Case& c : {Case{3, 5, 1, 3, 1, 1, {1, 1, 1, 1}}, Case{3, 4, 1, 3, 2, 1, {0, 0, 1, 1}},
                        Case{4, 6, 2, 3, 1, 2, {2, 1, 0, 2}}, Case{4, 4, 4, 3, 2, 1, {1, 1, 1, 1}},
                        Case{4, 8, 4, 3, 1, 1, {1, 0, 1, 0}}, Case{5, 7, 1, 1, 2, 1, {}}}) {
    CAPTURE(c.outputs);
    CAPTURE(c.groups);
    const Nchw x = random_picture(random, 1, c.channels, 9, 8);
    const Nchw w = random_picture(random, c.outputs, c.channels / c.groups, c.kernel, c.kernel);
    std::vector<double> bias;
    for (int i = 0; i < c.outputs; ++i) bias.push_back(random.real(-1, 1));
    OnnxBuilder file = conv_file(x, w, bias);
    auto& node = file.node("Conv", {"x", "w", "b"}, "y");
    set(node, "strides", std::vector<int64_t>{c.stride, c.stride});
    set(node, "dilations", std::vector<int64_t>{c.dilation, c.dilation});
    set(node, "group", int64_t{c.groups});
    set(node, "pads", std::vector<int64_t>{c.pads.top, c.pads.left, c.pads.bottom, c.pads.right});
    check_close(run_nchw(file, x), conv(x, w, bias, c.stride, c.dilation, c.pads, c.groups).floats());
  }
}

TEST_CASE("auto_pad puts the odd row behind or in front") {
  Random random(2);
  const Nchw x = random_picture(random, 1, 2, 6, 6), w = random_picture(random, 3, 2, 3, 3);
  const struct {
    const char* mode;
    Pads pads;
  } cases[] = {{"SAME_UPPER", {0, 0, 1, 1}}, {"SAME_LOWER", {1, 1, 0, 0}}, {"VALID", {}}};
  for (const auto& c : cases) {
    OnnxBuilder file = conv_file(x, w, {0, 0, 0});
    auto& node = file.node("Conv", {"x", "w", "b"}, "y");
    set(node, "strides", std::vector<int64_t>{2, 2});
    set(node, "auto_pad", c.mode);
    check_close(run_nchw(file, x), conv(x, w, {}, 2, 1, c.pads, 1).floats());
  }
}

TEST_CASE("pools: count_include_pad, ceil_mode") {
  Random random(3);
  const Nchw x = random_picture(random, 1, 3, 7, 7);
  struct Case {
    const char* op;
    int kernel, stride;
    Pads pads;
    int64_t include, ceil;
    Pads same_as;
  };
  for (const Case& c : {Case{"MaxPool", 3, 2, {}, 0, 0, {}}, Case{"MaxPool", 2, 2, {}, 0, 1, {0, 0, 1, 1}},
                        Case{"MaxPool", 3, 2, {1, 1, 1, 1}, 0, 0, {1, 1, 1, 1}},
                        Case{"AveragePool", 3, 2, {1, 1, 1, 1}, 0, 0, {1, 1, 1, 1}},
                        Case{"AveragePool", 3, 2, {1, 1, 1, 1}, 1, 0, {1, 1, 1, 1}},
                        Case{"AveragePool", 2, 2, {}, 0, 1, {0, 0, 1, 1}}}) {
    const bool average = std::string(c.op) == "AveragePool";
    OnnxBuilder file(11);
    file.input("x", dims(x));
    auto& node = file.node(c.op, {"x"}, "y");
    set(node, "kernel_shape", std::vector<int64_t>{c.kernel, c.kernel});
    set(node, "strides", std::vector<int64_t>{c.stride, c.stride});
    set(node, "pads", std::vector<int64_t>{c.pads.top, c.pads.left, c.pads.bottom, c.pads.right});
    set(node, "ceil_mode", c.ceil);
    if (average) set(node, "count_include_pad", c.include);
    check_close(run_nchw(file, x), pool(x, c.kernel, c.stride, c.same_as, average, c.include != 0).floats());
  }
}

TEST_CASE("Pad goes into the window behind it") {
  Random random(4);
  const Nchw x = random_picture(random, 1, 2, 5, 5), w = random_picture(random, 3, 2, 3, 3);
  const std::vector<int64_t> pads = {0, 0, 1, 2, 0, 0, 0, 1};
  for (const int64_t opset : {10, 13}) {
    OnnxBuilder file(opset);
    file.input("x", dims(x));
    file.floats("w", dims(w), w.floats());
    if (opset >= 11) file.integers("pads", pads);
    auto& pad = opset >= 11 ? file.node("Pad", {"x", "pads"}, "p") : file.node("Pad", {"x"}, "p");
    if (opset < 11) set(pad, "pads", pads);
    file.node("Conv", {"p", "w"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.ops() == std::vector<Op>{Op::kConv2d, Op::kTranspose});
    check_close(run_import<float>(import, x.nhwc()), conv(x, w, {}, 1, 1, {1, 2, 0, 1}, 1).floats());
  }
}

TEST_CASE("Pad that nothing takes stays a node") {
  OnnxBuilder file;
  file.input("x", {1, 2, 5, 5});
  file.integers("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  file.node("Pad", {"x", "pads"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kPad) == 1);
}

TEST_CASE("batch normalization folds into what is before it, and keeps its statistics") {
  Random random(6);
  const Nchw x = random_picture(random, 1, 3, 5, 5), w = random_picture(random, 4, 3, 3, 3);
  const std::vector<float> gamma = {1.5f, -0.5f, 2, 0}, beta = {0.1f, 0.2f, 0.3f, 0.4f};
  const std::vector<float> mean = {0.5f, -0.5f, 0, 1}, variance = {1, 4, 0.25f, 1};
  OnnxBuilder file = conv_file(x, w, {0.1, 0.2, 0.3, 0.4});
  file.floats("gamma", {4}, gamma);
  file.floats("beta", {4}, beta);
  file.floats("mean", {4}, mean);
  file.floats("variance", {4}, variance);
  file.node("Conv", {"x", "w", "b"}, "c");
  set(file.node("BatchNormalization", {"c", "gamma", "beta", "mean", "variance"}, "n"), "epsilon", 0.001f);
  file.node("Relu", {"n"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kConv2d, Op::kTranspose});
  CHECK(import.node(Op::kConv2d).options.as<Clamp>().min == 0.0f);
  REQUIRE(import.graph().norm_statistics.size() == 1);
  const GraphNormStatistics& statistics = import.graph().norm_statistics[0];
  CHECK(statistics.tensor == import.node(Op::kConv2d).outputs[0]);
  CHECK(statistics.mean[1] == 0.2f);
  CHECK(statistics.deviation[1] == doctest::Approx(0.5).epsilon(1e-3));

  Nchw expected = conv(x, w, {0.1, 0.2, 0.3, 0.4}, 1, 1, {}, 1);
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 9; ++i) {
      const auto c = static_cast<size_t>(k);
      double& v = expected(0, k, i / 3, i % 3);
      v = gamma[c] * (v - mean[c]) / std::sqrt(variance[c] + 0.001) + beta[c];
    }
  clamp(expected, 0, INFINITY);
  check_close(run_import<float>(import, x.nhwc()), expected.floats());
}

TEST_CASE("batch normalization with nothing before it is a depthwise convolution") {
  OnnxBuilder file;
  const Nchw x = [] {
    Random random(7);
    return random_picture(random, 1, 2, 3, 3);
  }();
  file.input("x", dims(x));
  for (const char* name : {"gamma", "beta", "mean", "variance"}) file.floats(name, {2}, {0.5f, 2});
  set(file.node("BatchNormalization", {"x", "gamma", "beta", "mean", "variance"}, "y"), "epsilon", 0.0f);
  Nchw expected = x;
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 9; ++i) {
      const double p = k == 0 ? 0.5 : 2;
      expected(0, k, i / 3, i % 3) = p * (x(0, k, i / 3, i % 3) - p) / std::sqrt(p) + p;
    }
  check_close(run_nchw(file, x), expected.floats());
}

TEST_CASE("a network of NCHW layers becomes NHWC without transposes") {
  Import import(small_network().bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kConv2d, Op::kDepthwiseConv2d, Op::kAdd, Op::kMaxPool2d,
                                        Op::kReshape, Op::kFullyConnected, Op::kSoftmax});
  CHECK(import.dims(import.input()) == std::vector<int32_t>{1, 8, 8, 3});
  CHECK(std::string(import.input().name) == "x");
  CHECK(std::string(import.output().name) == "y");
  CHECK(import.outcome->report.notes.size() == 1);
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
}

TEST_CASE("a flattening's order goes into the weights") {
  Random random(8);
  const Nchw x = random_picture(random, 1, 3, 4, 4);
  const std::vector<float> w = random.reals(48 * 5, -1, 1);
  for (const bool by_reshape : {false, true}) {
    OnnxBuilder file;
    file.input("x", dims(x));
    file.floats("w", {48, 5}, w);
    file.integers("shape", {0, -1});
    file.node("Relu", {"x"}, "r");
    auto& pool = file.node("AveragePool", {"r"}, "p");
    set(pool, "kernel_shape", std::vector<int64_t>{1, 1});
    if (by_reshape)
      file.node("Reshape", {"p", "shape"}, "f");
    else
      file.node("Flatten", {"p"}, "f");
    file.node("Gemm", {"f", "w"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kTranspose) == 0);
    std::vector<float> expected;
    for (size_t o = 0; o < 5; ++o) {
      double sum = 0;
      for (size_t i = 0; i < 48; ++i) sum += std::max(x.v[i], 0.0) * w[i * 5 + o];
      expected.push_back(static_cast<float>(sum));
    }
    check_close(run_import<float>(import, x.nhwc()), expected);
  }
}

TEST_CASE("means over height and width, kept or not") {
  Random random(9);
  const Nchw x = random_picture(random, 1, 3, 4, 5);
  std::vector<float> expected;
  for (int k = 0; k < 3; ++k) {
    double sum = 0;
    for (int i = 0; i < 20; ++i) sum += x(0, k, i / 5, i % 5);
    expected.push_back(static_cast<float>(sum / 20));
  }
  for (const int form : {0, 1, 2, 3}) {
    OnnxBuilder file(form == 3 ? 18 : 13);
    const Nchw w = random_picture(random, 3, 3, 1, 1);
    file.input("x", dims(x));
    auto& identity = file.node("AveragePool", {"x"}, "p");
    set(identity, "kernel_shape", std::vector<int64_t>{1, 1});
    if (form == 0) file.node("GlobalAveragePool", {"p"}, "y");
    if (form == 1 || form == 2) {
      auto& mean = file.node("ReduceMean", {"p"}, "y");
      set(mean, "axes", std::vector<int64_t>{-1, 2});
      set(mean, "keepdims", int64_t{form == 1});
    }
    if (form == 3) {
      file.integers("axes", {2, 3});
      set(file.node("ReduceMean", {"p", "axes"}, "y"), "keepdims", int64_t{0});
    }
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kTranspose) == 0);
    check_close(run_import<float>(import, x.nhwc()), expected);
  }
}

TEST_CASE("matrix products: alpha, beta, a bias from Add, a batch of rows") {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, w = {1, 0, 2, 1, 3, -1};  // [3, 2]
  SUBCASE("Gemm") {
    OnnxBuilder file;
    file.input("x", {2, 3});
    file.floats("w", {3, 2}, w);
    file.floats("c", {1, 2}, {10, 20});
    auto& node = file.node("Gemm", {"x", "w", "c"}, "y");
    set(node, "alpha", 2.0f);
    set(node, "beta", 0.5f);
    file.output("y");
    Import import(file.bytes());
    check_close(run_import<float>(import, x), {2 * 14 + 5, 2 * -1 + 10, 2 * 32 + 5, 2 * -1 + 10});
  }
  SUBCASE("Gemm of a transposed input") {
    OnnxBuilder file;
    file.input("x", {3, 2});
    file.floats("w", {3, 2}, w);
    set(file.node("Gemm", {"x", "w"}, "y"), "transA", int64_t{1});
    file.output("y");
    Import import(file.bytes());
    check_close(run_import<float>(import, std::vector<float>{1, 4, 2, 5, 3, 6}), {14, -1, 32, -1});
  }
  SUBCASE("MatMul and Add") {
    OnnxBuilder file;
    file.input("x", {2, 3});
    file.floats("w", {3, 2}, w);
    file.floats("c", {2}, {10, 20});
    file.node("MatMul", {"x", "w"}, "m");
    file.node("Add", {"c", "m"}, "y");
    file.output("y");
    Import import(file.bytes());
    CHECK(import.ops() == std::vector<Op>{Op::kFullyConnected});
    check_close(run_import<float>(import, x), {24, 19, 42, 19});
  }
  SUBCASE("two activations") {
    OnnxBuilder file;
    file.input("x", {2, 2});
    file.node("MatMul", {"x", "x"}, "y");
    file.output("y");
    Import import(file.bytes());
    CHECK(import.ops() == std::vector<Op>{Op::kBatchMatMul});
    check_close(run_import<float>(import, std::vector<float>{1, 2, 3, 4}), {7, 10, 15, 22});
  }
}

TEST_CASE("clips by attribute and by input, and fused only where nobody else looks") {
  for (const int64_t opset : {10, 13}) {
    OnnxBuilder file(opset);
    file.input("x", {1, 4});
    file.floats("low", {}, {-1});
    auto& clip = opset < 11 ? file.node("Clip", {"x"}, "y") : file.node("Clip", {"x", "low"}, "y");
    if (opset < 11) set(clip, "min", -1.0f);
    file.output("y");
    Import import(file.bytes());
    CHECK(import.ops() == std::vector<Op>{Op::kClamp});
    check_close(run_import<float>(import, std::vector<float>{-2, -1, 0, 9}), {-1, -1, 0, 9});
  }
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.floats("w", {2, 2}, {1, 0, 0, 1});
  file.node("MatMul", {"x", "w"}, "m");
  file.node("Relu", {"m"}, "r");
  file.node("Add", {"m", "r"}, "y");
  file.output("y");
  Import import(file.bytes());
  CHECK(import.ops() == std::vector<Op>{Op::kFullyConnected, Op::kClamp, Op::kAdd});
  check_close(run_import<float>(import, std::vector<float>{-2, 3}), {-2, 6});
}

TEST_CASE("softmax over other axes than the last, in both meanings") {
  Random random(10);
  const Nchw x = random_picture(random, 1, 3, 2, 2);
  for (const int64_t opset : {11, 13}) {
    OnnxBuilder file(opset);
    file.input("x", {1, 3, 4});
    set(file.node("Softmax", {"x"}, "y"), "axis", int64_t{1});
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    const std::vector<float> in = x.floats();
    std::vector<float> expected(12);
    for (size_t i = 0; i < 12; ++i) {
      double sum = 0;
      for (size_t j = 0; j < 12; ++j)
        if (opset < 13 || j % 4 == i % 4) sum += std::exp(double{in[j]});
      expected[i] = static_cast<float>(std::exp(double{in[i]}) / sum);
    }
    check_close(run_import<float>(import, in), expected);
  }
}

TEST_CASE("shapes: Squeeze, Unsqueeze, Transpose, Identity, Dropout, Constant") {
  OnnxBuilder file(13);
  file.input("x", {1, 2, 1, 3});
  file.integers("two", {2});
  file.node("Squeeze", {"x", "two"}, "s");
  set(file.node("Transpose", {"s"}, "t"), "perm", std::vector<int64_t>{0, 2, 1});
  file.node("Identity", {"t"}, "i");
  file.node("Dropout", {"i"}, "d");
  set(file.node("Constant", {}, "axes"), "value_ints", std::vector<int64_t>{0, -1});
  file.node("Unsqueeze", {"d", "axes"}, "y");
  file.output("y");
  // "x" is taken as NHWC only where it is transposed to it, so it stays as it is here.
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.dims(import.output()) == std::vector<int32_t>{1, 1, 3, 2, 1});
  CHECK(std::string(import.output().name) == "y");
  check_close(run_import<float>(import, std::vector<float>{1, 2, 3, 4, 5, 6}), {1, 4, 2, 5, 3, 6});
}

}  // namespace intaglio::test::import_onnx_test
