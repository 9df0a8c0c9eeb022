// Int8 nodes that compute a function of one tensor become one table, with the same codes for every input.
#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_join_lookups_test {
namespace {

constexpr int32_t kCount = 256;

// x [1, 256] as codes 'a' with scale 1/16; `middle` makes 'r' of it, which leaves as codes with scale 1/32. Where
// `show` names a tensor, it leaves as well, so that nothing behind it may see through it.
template <typename Middle>
Import between(Middle middle, const std::string& show = "") {
  OnnxBuilder file(13);
  file.input("x", {1, kCount});
  scale(file, "s", 0.0625f, Type::INT8, 3);
  scale(file, "t", 0.03125f, Type::INT8, -5);
  quantize(file, "x", "s", "a");
  middle(file);
  quantize(file, "r", "t", "y");
  file.output("y");
  if (!show.empty()) file.output(show);
  return Import(file.bytes());
}

// Reals of all codes of 'a'.
std::vector<float> every_code() {
  std::vector<float> x;
  for (int32_t code = -128; code < 128; ++code) x.push_back(static_cast<float>(code - 3) * 0.0625f);
  return x;
}

// One Lookup gives what the nodes give where `show` keeps them apart.
template <typename Middle>
void check_joined(Middle middle, const std::string& show) {
  Import joined = between(middle), apart = between(middle, show);
  CHECK(joined.ops() == std::vector<Op>{Op::kQuantize, Op::kLookup, Op::kDequantize});
  CHECK(apart.ops().size() > 4);
  CHECK(run_import<float>(joined, every_code()) == run_import<float>(apart, every_code()));
}

}  // namespace

TEST_CASE("x * sigmoid(x) in codes is one table") {
  check_joined(
      [](OnnxBuilder& file) {
        scale(file, "u", 1.0f / 256, Type::INT8, -128);
        file.node("Sigmoid", {"a"}, "b");
        quantize(file, "b", "u", "c");
        file.node("Mul", {"a", "c"}, "r");
      },
      "c");
}

TEST_CASE("a hard swish of small operators in codes is one table") {
  check_joined(
      [](OnnxBuilder& file) {
        scale(file, "u", 0.0625f, Type::INT8, 0);
        scale(file, "v", 6.0f / 255, Type::INT8, -128);
        file.floats("three", {}, {3});
        file.floats("zero", {}, {0});
        file.floats("six", {}, {6});
        file.node("Add", {"a", "three"}, "b");
        quantize(file, "b", "u", "c");
        file.node("Clip", {"c", "zero", "six"}, "d");
        quantize(file, "d", "v", "e");
        file.node("Mul", {"a", "e"}, "r");
      },
      "c");
}

TEST_CASE("FP32 functions between codes are one table") {
  check_joined(
      [](OnnxBuilder& file) {
        file.node("Exp", {"a"}, "b");
        file.node("Sqrt", {"b"}, "c");
        file.node("Softsign", {"c"}, "d");
        file.node("Mul", {"d", "a"}, "r");
      },
      "c");
}

TEST_CASE("what others read stays, and is where the table starts") {
  const auto square = [](OnnxBuilder& file) {
    scale(file, "u", 1.0f / 256, Type::INT8, -128);
    file.node("Sigmoid", {"a"}, "b");
    quantize(file, "b", "u", "c");
    file.node("Mul", {"c", "c"}, "r");
  };
  Import import = between(square, "c");
  CHECK(import.count(Op::kLookup) == 2);
  CHECK(import.count(Op::kMul) == 0);
  std::vector<const GraphNode*> tables;
  for (const GraphNode& node : import.graph().nodes)
    if (node.op == Op::kLookup) tables.push_back(&node);
  CHECK(tables[1]->inputs[0] == tables[0]->outputs[0]);
}

TEST_CASE("two tensors of codes, or one number a channel, are no table") {
  const auto two = [](OnnxBuilder& file) {
    file.input("z", {1, kCount});
    quantize(file, "z", "s", "b");
    file.node("Mul", {"a", "b"}, "r");
  };
  CHECK(between(two).count(Op::kMul) == 1);
  const auto channels = [](OnnxBuilder& file) {
    std::vector<float> numbers(kCount);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.0625f * static_cast<float>(i % 7);
    file.floats("n", {kCount}, numbers);
    file.node("Add", {"a", "n"}, "b");
    quantize(file, "b", "s", "c");
    file.node("Sigmoid", {"c"}, "r");
  };
  Import many = between(channels);
  CHECK(many.count(Op::kLookup) == 2);
  CHECK(many.tensor(many.node(Op::kLookup).inputs[1]).shape.elements() == int64_t{kCount} * 256);
}

}  // namespace intaglio::test::import_join_lookups_test
