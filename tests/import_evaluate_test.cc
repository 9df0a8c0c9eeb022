// Operators of constants: each is computed at import by the runtime's own kernels, and leaves no node.
#include <functional>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_evaluate_test {
namespace {

using Reals = std::vector<float>;

// y = x + what the nodes that `fill` adds make, in "c"; x has this many zeros.
Reals computed(size_t count, const std::function<void(OnnxBuilder&)>& fill) {
  OnnxBuilder file(13);
  file.input("x", {static_cast<int64_t>(count)});
  fill(file);
  file.integers("flat", {-1});
  file.node("Reshape", {"c", "flat"}, "row");
  file.node("Add", {"x", "row"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kAdd});
  return run_import<float>(import, Reals(count, 0.0f));
}

}  // namespace

TEST_CASE("ONNX: products, functions, pictures and orders of constants") {
  CHECK(computed(4, [](OnnxBuilder& file) {
          file.floats("a", {2, 3}, {1, 2, 3, 4, 5, 6});
          file.floats("b", {3, 2}, {1, 0, 0, 1, 1, 1});
          file.node("MatMul", {"a", "b"}, "c");
        }) == Reals{4, 5, 10, 11});
  CHECK(computed(3, [](OnnxBuilder& file) {
          file.floats("a", {3}, {-2, 0, 5});
          file.node("Relu", {"a"}, "c");
        }) == Reals{0, 0, 5});
  CHECK(computed(1, [](OnnxBuilder& file) {
          file.floats("a", {1, 1, 2, 2}, {1, 2, 3, 4});
          file.floats("w", {1, 1, 2, 2}, {1, 10, 100, 1000});
          file.node("Conv", {"a", "w"}, "c");
        }) == Reals{4321});
  CHECK(computed(3, [](OnnxBuilder& file) {
          file.floats("a", {4}, {3, 9, 1, 7});
          file.integers("k", {3});
          file.node("TopK", {"a", "k"}, "c").output.push_back("order");
        }) == Reals{9, 7, 3});
  CHECK(computed(2, [](OnnxBuilder& file) {
          file.floats("a", {2, 2}, {3, 4, 6, 8});
          set(file.node("ReduceL2", {"a"}, "c"), "axes", std::vector<int64_t>{1});
        }) == Reals{5, 10});
}

TEST_CASE("ONNX: weights that a batch normalization standardizes, by its own statistics or by given ones") {
  for (const bool is_training : {false, true}) {
    CAPTURE(is_training);
    const Reals found = computed(6, [&](OnnxBuilder& file) {
      file.floats("w", {1, 2, 3}, {1, 2, 3, -4, 0, 4});
      file.floats("gamma", {2}, {2, 3});
      file.floats("beta", {2}, {0, 1});
      file.floats("mean", {2}, {2, 1});
      file.floats("variance", {2}, {0.25f, 4});
      auto& node = file.node("BatchNormalization", {"w", "gamma", "beta", "mean", "variance"}, "c");
      set(node, "epsilon", 0.0f);
      if (is_training) set(node, "training_mode", int64_t{1});
    });
    const float first = 2.0f / std::sqrt(2.0f / 3.0f), second = 3.0f * 4.0f / std::sqrt(32.0f / 3.0f);
    const Reals expected = is_training ? Reals{-first, 0, first, 1 - second, 1, 1 + second}
                                       : Reals{-4, 0, 4, -6.5f, -0.5f, 5.5f};
    for (size_t i = 0; i < 6; ++i) CHECK(std::fabs(found[i] - expected[i]) < 1e-5f);
  }
}

TEST_CASE("ONNX: places of what is not 0, of reals and of truth values") {
  const auto places = [](size_t count, const std::function<void(OnnxBuilder&)>& fill) {
    return computed(count, [&](OnnxBuilder& file) {
      fill(file);
      file.node("NonZero", {"a"}, "places");
      set(file.node("Cast", {"places"}, "c"), "to", int64_t{onnx_file::TensorProto::FLOAT});
    });
  };
  CHECK(places(6, [](OnnxBuilder& file) {
          file.floats("a", {2, 3}, {0, 1, 0, -2, 0, 3});
        }) == Reals{0, 1, 1, 1, 0, 2});
  CHECK(places(8, [](OnnxBuilder& file) {
          file.floats("b", {3, 2}, {0, 1, 0, -2, 0, 3});
          file.floats("zero", {1}, {0});
          file.node("Less", {"zero", "b"}, "less");
          file.node("Not", {"less"}, "a");
        }) == Reals{0, 1, 1, 2, 0, 0, 1, 0});
}

TEST_CASE("ONNX: what is computed of integers is a list of integers again") {
  OnnxBuilder file(13);
  file.input("x", {2, 3});
  file.floats("scores", {3}, {1, 9, 4});
  file.node("ArgMax", {"scores"}, "best");
  set(file.node("Gather", {"x", "best"}, "y"), "axis", int64_t{1});
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kTopK) == 0);
  CHECK(run_import<float>(import, Reals{0, 1, 2, 3, 4, 5}) == Reals{1, 4});
}

TEST_CASE("ONNX: what would take long, or cannot be computed, is refused by name") {
  OnnxBuilder file(13);
  file.input("x", {1});
  file.floats("a", {2048, 2048}, Reals(2048 * 2048, 1.0f));
  file.node("MatMul", {"a", "a"}, "c");
  file.node("Add", {"x", "c"}, "y");
  file.output("y");
  // 2^33 products, and 16 operations for each number of the result's copy.
  CHECK(
      Import(file.bytes())
          .says("'c_node' (MatMul): its result, which follows from constants, takes 8657043456 operations"));
}

// The operator has one output; the second name is one that the network has already.
TEST_CASE("an output too many that names the network's input is not computed") {
  const Reals sum = computed(3, [](OnnxBuilder& file) {
    file.floats("a", {3}, {-2, 0, 5});
    file.node("Relu", {"a"}, "c").output.push_back("x");
  });
  CHECK(sum == Reals{0, 0, 5});
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
  const int32_t a = file.constant("a", kTfliteFloat, {2}, Reals{-2, 5}),
                c = file.tensor("c", kTfliteFloat, {2});
  file.op(kTfliteRelu, {a}, {c, x});
  file.op(kTfliteAdd, {x, c}, {y}, tflite::Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
  CHECK(!Import(file.finish({x}, {y})).message().empty());
}

TEST_CASE("TFLite: a repeated int8 constant, as anchors are") {
  TfliteBuilder file;
  const TfliteScales scales{{0.5f}, 1};
  const int32_t x = file.tensor("x", kTfliteInt8, {2, 2}, scales),
                y = file.tensor("y", kTfliteInt8, {2, 2}, scales);
  const int32_t row = file.constant("row", kTfliteInt8, {1, 2}, std::vector<int8_t>{3, -5}, scales);
  const int32_t repeats = file.constant("repeats", kTfliteInt32, {2}, std::vector<int32_t>{2, 1});
  const int32_t rows = file.tensor("rows", kTfliteInt8, {2, 2}, scales);
  constexpr int32_t kTile = 69;
  file.op(kTile, {row, repeats}, {rows});
  file.op(kTfliteAdd, {x, rows}, {y}, tflite::Options::AddOptions,
          tflite::CreateAddOptions(file.fbb()).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kAdd});
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{1, 1, 11, 1}) == std::vector<int8_t>{3, -5, 13, -5});
}

TEST_CASE("TFLite: an int8 constant without a scale goes through no operator") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
  const int32_t codes = file.constant("codes", kTfliteInt8, {2}, std::vector<int8_t>{1, 2});
  const int32_t soft = file.tensor("soft", kTfliteInt8, {2}, {{1.0f / 256}, -128});
  file.op(kTfliteSoftmax, {codes}, {soft}, tflite::Options::SoftmaxOptions,
          tflite::CreateSoftmaxOptions(file.fbb(), 1.0f).Union());
  file.op(kTfliteRelu, {x}, {y});
  Import import(file.finish({x}, {y, soft}));
  CHECK_MESSAGE(import.says("'soft' (SOFTMAX): tensor 'codes' is int8 and needs one scale, it has 0"),
                import.message());
}

TEST_CASE("TFLite: a product of constants, the weights with a scale for each channel") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 2}),
                product = file.tensor("product", kTfliteFloat, {1, 2});
  const int32_t a = file.constant("a", kTfliteFloat, {1, 3}, Reals{1, 2, 3}),
                w = file.constant("w", kTfliteInt8, {2, 3}, std::vector<int8_t>{1, 0, 2, 0, 4, 0},
                                  TfliteScales{{0.5f, 0.25f}});
  file.op(kTfliteFullyConnected, {a, w}, {product}, tflite::Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  file.op(kTfliteAdd, {x, product}, {y}, tflite::Options::AddOptions,
          tflite::CreateAddOptions(file.fbb()).Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kAdd});
  CHECK(run_import<float>(import, Reals{10, 20}) == Reals{13.5f, 22});
}

}  // namespace intaglio::test::import_evaluate_test
