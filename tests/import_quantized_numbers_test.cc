// Quantized ONNX files keep their numbers: what an int8 node would round otherwise than the file stays in FP32.
#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_quantized_numbers_test {
namespace {

// x [1, 3] with scale 0.5 and zero point 1, quantized; what `middle` makes of 'a' is 'r'. Quantized once more with
// scale 0.25 where `again`.
template <typename Middle>
Import between(Middle middle, bool again, const std::vector<int64_t>& dims = {1, 3}) {
  OnnxBuilder file(13);
  file.input("x", dims);
  scale(file, "s", 0.5f, Type::INT8, 1);
  scale(file, "t", 0.25f, Type::INT8, 0);
  quantize(file, "x", "s", "a");
  middle(file);
  if (again) quantize(file, "r", "t", "y");
  file.output(again ? "y" : "r");
  return Import(file.bytes());
}

}  // namespace

TEST_CASE("Pad with a value that is no code keeps it") {
  const auto pad = [](float value) {
    return [value](OnnxBuilder& file) {
      file.integers("pads", {0, 1, 0, 1});
      file.floats("v", {}, {value});
      file.node("Pad", {"a", "pads", "v"}, "r");
    };
  };
  const std::vector<float> x{1, 2, 3};
  Import beyond = between(pad(100), false);  // codes end at 63
  CHECK(run_import<float>(beyond, x) == std::vector<float>{100, 1, 2, 3, 100});
  Import among = between(pad(0.3f), false);
  CHECK(run_import<float>(among, x) == std::vector<float>{0.3f, 1, 2, 3, 0.3f});
  Import code = between(pad(-1.5f), false);
  CHECK(code.ops() == std::vector<Op>{Op::kQuantize, Op::kPad, Op::kDequantize});
  CHECK(run_import<float>(code, x) == std::vector<float>{-1.5f, 1, 2, 3, -1.5f});
  // Quantized again, the value is rounded as the file rounds it: 100 ends at 31.75, 0.3 becomes 0.25.
  Import clipped = between(pad(100), true);
  CHECK(clipped.tensor(clipped.node(Op::kPad).outputs[0]).dtype == DType::kS8);
  CHECK(run_import<float>(clipped, x) == std::vector<float>{31.75f, 1, 2, 3, 31.75f});
  Import rounded = between(pad(0.3f), true);
  CHECK(run_import<float>(rounded, x) == std::vector<float>{0.25f, 1, 2, 3, 0.25f});
}

TEST_CASE("linear Resize stays in FP32 where codes would round, nearest does not") {
  const auto resize = [](const char* mode, float factor) {
    return [=](OnnxBuilder& file) {
      file.floats("scales", {4}, {1, 1, 1, factor});
      auto& node = file.node("Resize", {"a", "", "scales"}, "r");
      set(node, "mode", mode);
      set(node, "coordinate_transformation_mode", "asymmetric");
      set(node, "nearest_mode", "floor");
    };
  };
  const std::vector<int64_t> dims{1, 1, 1, 2};
  const std::vector<float> x{1, 2};
  Import linear = between(resize("linear", 4), false, dims);
  CHECK(run_import<float>(linear, x) == std::vector<float>{1, 1.25f, 1.5f, 1.75f, 2, 2, 2, 2});
  Import nearest = between(resize("nearest", 2), false, dims);
  CHECK(run_import<float>(nearest, x) == std::vector<float>{1, 1, 2, 2});
  CHECK(nearest.tensor(nearest.node(Op::kResize).outputs[0]).dtype == DType::kS8);
  // Another scale behind it: quarters are values of it.
  Import again = between(resize("linear", 4), true, dims);
  CHECK(run_import<float>(again, x) == std::vector<float>{1, 1.25f, 1.5f, 1.75f, 2, 2, 2, 2});
  REQUIRE(again.outcome->report.notes.size() > 0);
  CHECK(again.outcome->report.notes.back() ==
        "node 'r_node' (Resize) stays in FP32: on codes its interpolation would round once more");
}

TEST_CASE("linear Resize within one scale is int8 where its weights are exact") {
  for (const float factor : {2.0f, 3.0f}) {
    CAPTURE(factor);
    OnnxBuilder file(13);
    file.input("x", {1, 1, 1, 2});
    scale(file, "s", 0.5f, Type::INT8, 1);
    quantize(file, "x", "s", "a");
    file.floats("scales", {4}, {1, 1, 1, factor});
    auto& node = file.node("Resize", {"a", "", "scales"}, "r");
    set(node, "mode", "linear");
    set(node, "coordinate_transformation_mode", "asymmetric");
    quantize(file, "r", "s", "y");
    file.output("y");
    Import import(file.bytes());
    const bool is_s8 = import.tensor(import.node(Op::kResize).outputs[0]).dtype == DType::kS8;
    CHECK(is_s8 == (factor == 2.0f));
    const std::vector<float> y = run_import<float>(import, std::vector<float>{-3, 3});
    CHECK(y == (factor == 2.0f ? std::vector<float>{-3, 0, 3, 3} : std::vector<float>{-3, -1, 1, 3, 3, 3}));
  }
}

TEST_CASE("a MaxPool with bounds between the codes keeps them") {
  const auto pool = [](OnnxBuilder& file) {
    set(file.node("MaxPool", {"a"}, "m"), "kernel_shape", std::vector<int64_t>{1, 2});
    file.floats("low", {}, {0.3f});
    file.floats("high", {}, {2.2f});
    file.node("Clip", {"m", "low", "high"}, "r");
  };
  const std::vector<int64_t> dims{1, 1, 1, 4};
  const std::vector<float> x{-4, -2, 1, 3};
  Import alone = between(pool, false, dims);
  CHECK(run_import<float>(alone, x) == std::vector<float>{0.3f, 1, 2.2f});
  Import again = between(pool, true, dims);
  CHECK(again.tensor(again.node(Op::kMaxPool2d).outputs[0]).dtype == DType::kS8);
  CHECK(run_import<float>(again, x) == std::vector<float>{0.25f, 1, 2.25f});
}

TEST_CASE("constants by channel: each with its own value, as the file's FP32 has it") {
  const std::vector<float> constants{0.03f, 0.2f, 30};
  const std::vector<float> x{-1, 0.5f, 2};
  for (const char* op : {"Add", "Sub", "Mul"}) {
    for (const bool first : {false, true}) {
      CAPTURE(op);
      CAPTURE(first);
      Import import = between(
          [&](OnnxBuilder& file) {
            file.floats("c", {3}, constants);
            file.node(op, first ? std::vector<std::string>{"c", "a"} : std::vector<std::string>{"a", "c"},
                      "r");
          },
          true);
      CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kLookup, Op::kDequantize});
      std::vector<float> expected;
      for (size_t c = 0; c < 3; ++c) {
        const float a = first ? constants[c] : x[c], b = first ? x[c] : constants[c];
        const float y = *op == 'A' ? a + b : *op == 'S' ? a - b : a * b;
        expected.push_back(0.25f * std::clamp(std::nearbyint(y / 0.25f), -128.0f, 127.0f));
      }
      CHECK(run_import<float>(import, x) == expected);
    }
  }
}

TEST_CASE("a constant on its own grid stays codes, with a zero point where it needs one; another is FP32") {
  const std::vector<int64_t> dims{1, 2, 2};
  const std::vector<float> x{1, 2, 3, 4};
  Import grid = between(
      [](OnnxBuilder& file) {
        codes(file, "q", {2, 2}, Type::UINT8, {0, 255, 130, 131});
        scale(file, "qs", 0.125f, Type::UINT8, 130);
        file.node("DequantizeLinear", {"q", "qs", "qs0"}, "c");
        file.node("Add", {"a", "c"}, "r");
      },
      true, dims);
  CHECK(grid.count(Op::kAdd) == 1);
  CHECK(grid.tensor(grid.node(Op::kAdd).inputs[1]).quantization.zero_point == 2);
  // 1 - 16.25, 2 + 15.625 in quarters, half to even, 3 + 0, 4 + 0.125
  CHECK(run_import<float>(grid, x) == std::vector<float>{-15.25f, 17.75f, 3, 4.25f});
  Import other = between(
      [](OnnxBuilder& file) {
        file.floats("c", {2, 2}, {0.03f, 0.2f, 30, 0.4f});
        file.node("Mul", {"a", "c"}, "r");
      },
      true, dims);
  CHECK(run_import<float>(other, x) == std::vector<float>{0, 0.5f, 31.75f, 1.5f});
  REQUIRE(other.outcome->report.notes.size() == 1);
  CHECK(other.outcome->report.notes[0] ==
        "node 'r_node' (Mul) stays in FP32: its constant lies on no grid of 8 bits");
}

TEST_CASE("readers that quantize a tensor in one way each read it once") {
  Import import = between(
      [](OnnxBuilder& file) {
        file.floats("two", {}, {2});
        file.node("Mul", {"a", "two"}, "m");
        quantize(file, "m", "t", "b");
        quantize(file, "m", "t", "c");
        set(file.node("Concat", {"b", "c"}, "r"), "axis", int64_t{1});
      },
      true);
  CHECK(import.ops() == std::vector<Op>{Op::kQuantize, Op::kLookup, Op::kConcat, Op::kDequantize});
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 3}) == std::vector<float>{2, 4, 6, 2, 4, 6});
}

}  // namespace intaglio::test::import_quantized_numbers_test
