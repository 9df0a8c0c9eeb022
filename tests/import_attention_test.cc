// Pieces that transformers' exporters write become whole nodes: normalizations, factors of products, biases behind a Reshape.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::import_attention_test {
namespace {

constexpr int64_t kRows = 3, kChannels = 5;

enum class Root { kDivBySqrt, kMulByReciprocal };

// The normalization of x's last axis as exporters write it, into "y".
OnnxBuilder pieces(bool centred, Root root, const std::vector<float>& scale,
                   const std::vector<float>& shift) {
  OnnxBuilder file(13);
  file.input("x", {kRows, kChannels});
  file.floats("two", {}, {2.0f});
  file.floats("epsilon", {}, {0.25f});
  file.floats("scale", {kChannels}, scale);
  file.floats("shift", {kChannels}, shift);
  const std::string d = centred ? "d" : "x";
  if (centred) {
    set(file.node("ReduceMean", {"x"}, "m"), "axes", std::vector<int64_t>{-1});
    file.node("Sub", {"x", "m"}, "d");
  }
  file.node("Pow", {d, "two"}, "squares");
  set(file.node("ReduceMean", {"squares"}, "variance"), "axes", std::vector<int64_t>{-1});
  file.node("Add", {"variance", "epsilon"}, "sum");
  file.node("Sqrt", {"sum"}, "root");
  if (root == Root::kDivBySqrt) {
    file.node("Div", {d, "root"}, "n");
  } else {
    file.node("Reciprocal", {"root"}, "inverse");
    file.node("Mul", {d, "inverse"}, "n");
  }
  file.node("Mul", {"scale", "n"}, "scaled");
  file.node("Add", {"scaled", "shift"}, "y");
  file.output("y");
  return file;
}

}  // namespace

TEST_CASE("a normalization in pieces is one node, its factors and summands in it") {
  Random random(1);
  const std::vector<float> x = random.reals(kRows * kChannels, -2, 2), scale = random.reals(kChannels, -2, 2),
                           shift = random.reals(kChannels, -1, 1);
  for (const bool centred : {true, false})
    for (const Root root : {Root::kDivBySqrt, Root::kMulByReciprocal}) {
      CAPTURE(centred);
      Import import(pieces(centred, root, scale, shift).bytes());
      REQUIRE_MESSAGE(import.good(), import.message());
      REQUIRE(import.ops() == std::vector<Op>{Op::kNormalize});
      const auto options = import.node(Op::kNormalize).options.as<NormalizeOptions>();
      CHECK(options.epsilon == 0.25f);
      CHECK(options.keeps_mean == !centred);
      const std::vector<float> y = run_import<float>(import, x);
      for (size_t row = 0; row < kRows; ++row) {
        double mean = 0.0, variance = 0.0;
        const float* const of_row = x.data() + row * kChannels;
        for (size_t c = 0; c < kChannels && centred; ++c) mean += static_cast<double>(of_row[c]) / kChannels;
        for (size_t c = 0; c < kChannels; ++c)
          variance += (of_row[c] - mean) * (of_row[c] - mean) / kChannels;
        for (size_t c = 0; c < kChannels; ++c)
          CHECK(std::fabs(static_cast<double>(y[row * kChannels + c]) -
                          ((of_row[c] - mean) / std::sqrt(variance + 0.25) * static_cast<double>(scale[c]) +
                           static_cast<double>(shift[c]))) <= 1e-5);
      }
    }
}

TEST_CASE("what is nearly a normalization stays as it is") {
  const auto ops_with = [](const char* axis_node, int64_t axis) {
    OnnxBuilder file =
        pieces(true, Root::kDivBySqrt, std::vector<float>(kChannels, 1), std::vector<float>(kChannels, 0));
    for (auto& node : file.graph().node)
      if (node.output[0] == axis_node) node.attribute[0].ints[0] = axis;
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    return import.ops();
  };
  const std::vector<Op> fused{Op::kNormalize};
  CHECK(ops_with("m", 1) == fused);
  CHECK(ops_with("variance", 0) != fused);
}

// d / sqrt(mean(d * d) + epsilon) over the first axis, of a d whose rows have the mean 0.
TEST_CASE("a variance over another axis than the mean's is a root mean square") {
  OnnxBuilder file =
      pieces(true, Root::kDivBySqrt, std::vector<float>(kChannels, 1), std::vector<float>(kChannels, 0));
  for (auto& node : file.graph().node)
    if (node.output[0] == "variance") node.attribute[0].ints[0] = 0;
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kSub) == 1);
  CHECK(import.node(Op::kNormalize).options.as<NormalizeOptions>().keeps_mean);
  Random random(3);
  const std::vector<float> x = random.reals(kRows * kChannels, -2, 2), y = run_import<float>(import, x);
  std::vector<double> d(x.begin(), x.end());
  for (size_t row = 0; row < kRows; ++row) {
    double mean = 0.0;
    for (size_t c = 0; c < kChannels; ++c) mean += d[row * kChannels + c] / kChannels;
    for (size_t c = 0; c < kChannels; ++c) d[row * kChannels + c] -= mean;
  }
  for (size_t c = 0; c < kChannels; ++c) {
    double squares = 0.0;
    for (size_t row = 0; row < kRows; ++row)
      squares += d[row * kChannels + c] * d[row * kChannels + c] / kRows;
    for (size_t row = 0; row < kRows; ++row)
      CHECK(std::fabs(double{y[row * kChannels + c]} - d[row * kChannels + c] / std::sqrt(squares + 0.25)) <=
            1e-5);
  }
}

TEST_CASE("factors of a product of two activations go into it, across what moves elements") {
  OnnxBuilder file(13);
  file.input("q", {2, 3, 4});
  file.input("k", {2, 3, 4});
  file.floats("half", {}, {0.5f});
  file.floats("two", {1}, {2.0f});
  file.floats("four", {}, {4.0f});
  file.node("Mul", {"q", "half"}, "p");
  file.node("Div", {"k", "two"}, "d");
  set(file.node("Transpose", {"d"}, "t"), "perm", std::vector<int64_t>{0, 2, 1});
  file.node("MatMul", {"p", "t"}, "s");
  file.node("Mul", {"s", "four"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  REQUIRE(import.ops() == std::vector<Op>{Op::kBatchMatMul});
  CHECK(import.node(Op::kBatchMatMul).options.as<BatchMatMulOptions>().scale == 1.0f);  // 1/2 * 1/2 * 4
}

TEST_CASE("a factor of zero, below it, or of many values stays behind the product") {
  for (const float factor : {0.0f, -1.0f}) {
    OnnxBuilder file(13);
    file.input("q", {2, 3});
    file.input("k", {3, 2});
    file.floats("f", {}, {factor});
    file.node("MatMul", {"q", "k"}, "s");
    file.node("Mul", {"s", "f"}, "y");
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.ops() == std::vector<Op>{Op::kBatchMatMul, Op::kMul});
  }
}

TEST_CASE("a bias behind the Reshape of a matrix product goes into it") {
  OnnxBuilder file(13);
  file.input("x", {2, 3, 4});
  file.floats("w", {4, 5}, std::vector<float>(20, 1.0f));
  file.floats("b", {5}, {1, 2, 3, 4, 5});
  file.node("MatMul", {"x", "w"}, "p");
  file.node("Add", {"b", "p"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  for (const Op op : import.ops()) CHECK(op != Op::kAdd);
  const std::vector<float> y = run_import<float>(import, std::vector<float>(24, 1.0f));
  CHECK(y[0] == 5.0f);
  CHECK(y[29] == 9.0f);
}

}  // namespace intaglio::test::import_attention_test
