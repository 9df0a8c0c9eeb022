// ONNX files with QuantizeLinear and DequantizeLinear of 16 bits.
#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_onnx_16_bits_test {

TEST_CASE(
    "codes of 16 bits with the zero point in their middle are codes here, others FP32 that ends where they do") {
  for (const bool is_unsigned : {false, true})
    for (const int32_t moved : {0, -100}) {
      CAPTURE(is_unsigned);
      CAPTURE(moved);
      OnnxBuilder file(21);
      file.input("x", {1, 4});
      scale(file, "s", 0.5f, is_unsigned ? Type::UINT16 : Type::INT16, (is_unsigned ? 32768 : 0) + moved);
      quantize(file, "x", "s", "y");
      file.output("y");
      Import import(file.bytes());
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK((import.count(Op::kQuantize) == 1) == (moved == 0));
      CHECK(import.notes("its codes of 16 bits have the zero point") == (moved != 0));
      const float more = 0.5f * static_cast<float>(-moved), first = moved == 0 ? 1.0f : 1.25f;
      CHECK(run_import<float>(import, std::vector<float>{1.25f, -3, 1e6f, -1e6f}) ==
            std::vector<float>{first, -3, 16383.5f + more, -16384 + more});
    }
}

TEST_CASE("a layer between scales of 16 bits, of 8 and 16, and back") {
  for (const bool in_wide : {false, true})
    for (const bool out_wide : {false, true}) {
      CAPTURE(in_wide);
      CAPTURE(out_wide);
      OnnxBuilder file(21);
      file.input("x", {2, 2});
      scale(file, "s", 0.5f, in_wide ? Type::INT16 : Type::INT8, 0);
      scale(file, "t", 0.25f, out_wide ? Type::UINT16 : Type::UINT8, out_wide ? 32768 : 28);
      file.floats("ws", {2}, {0.5f, 0.25f});
      codes(file, "ws0", {2}, Type::INT8, {0, 0});
      codes(file, "w", {2, 2}, Type::INT8, {1, 2, 3, -128});
      quantize(file, "x", "s", "a");
      set(file.node("DequantizeLinear", {"w", "ws", "ws0"}, "wf"), "axis", int64_t{0});
      file.floats("b", {2}, {1, -1});
      set(file.node("Gemm", {"a", "wf", "b"}, "g"), "transB", int64_t{1});
      file.integers("shape", {1, 4});
      file.node("Reshape", {"g", "shape"}, "r");
      quantize(file, "r", "t", "y");
      file.output("y");
      Import import(file.bytes());
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK(import.count(Op::kDequantize) == 1);
      CHECK(import.tensor(import.node(Op::kFullyConnected).inputs[1]).dtype == DType::kS8);
      const bool is_wide = in_wide || out_wide;
      CHECK(import.tensor(import.node(Op::kFullyConnected).outputs[0]).dtype ==
            (is_wide ? DType::kS16 : DType::kS8));
      // 0.5 x0 + x1 + 1, 0.75 x0 - 32 x1 - 1; codes of 8 bits end at -7 and 56.75
      const float low = out_wide ? -97.0f : -7.0f, high = out_wide ? 64.5f : 56.75f;
      CHECK(run_import<float>(import, std::vector<float>{1, 2, 2, -2}) ==
            std::vector<float>{3.5f, out_wide ? -64.25f : low, 0.0f, high});
    }
}

TEST_CASE(
    "operators on codes of 16 bits: a constant on a grid, one number, and weights of 16 bits, which stay in FP32") {
  OnnxBuilder file(21);
  file.input("x", {1, 4});
  scale(file, "s", 0.25f, Type::INT16, 0);
  quantize(file, "x", "s", "a");
  codes(file, "k", {1, 4}, Type::INT16, {-32768, 4, 8, 32767});
  file.node("DequantizeLinear", {"k", "s", "s0"}, "kf");
  file.node("Add", {"a", "kf"}, "sum");
  quantize(file, "sum", "s", "b");
  file.floats("two", {}, {2.0f});
  file.node("Sub", {"two", "b"}, "rest");
  quantize(file, "rest", "s", "c");
  codes(file, "w", {4, 1}, Type::INT16, {1000, 0, 0, -1000});
  file.node("DequantizeLinear", {"w", "s", "s0"}, "wf");
  file.node("MatMul", {"c", "wf"}, "p");
  quantize(file, "p", "s", "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  for (const Op op : {Op::kAdd, Op::kSub}) {
    REQUIRE(import.count(op) == 1);
    CHECK(import.tensor(import.node(op).outputs[0]).dtype == DType::kS16);
  }
  CHECK(import.tensor(import.node(Op::kFullyConnected).outputs[0]).dtype == DType::kF32);
  CHECK(import.notes("its weights lie on no grid of 8 bits"));
  // x + k = {-8191, 3, 4, 8191.75 at most}; 2 - that
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 2, 10}) == std::vector<float>{8191.75f});
}

}  // namespace intaglio::test::import_onnx_16_bits_test
