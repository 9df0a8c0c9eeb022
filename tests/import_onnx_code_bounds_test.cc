// Functions of codes in ONNX files, between QuantizeLinear and DequantizeLinear, compared with the integers' own arithmetic.
#include <cmath>
#include <functional>

#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_onnx_code_bounds_test {
namespace {

struct Case {
  Type::DataType type;
  int32_t zero_point;
};
constexpr Case kCases[] = {{Type::UINT8, 100}, {Type::UINT8, 0}, {Type::INT8, -7}, {Type::INT8, 0}};

constexpr float kScale = 0.5f;
int32_t least(const Case& c) { return c.type == Type::UINT8 ? 0 : -128; }

// x behind QuantizeLinear as "q"; then what `add` makes of it as "m", and DequantizeLinear.
std::string network(const Case& c, const std::function<void(OnnxBuilder&)>& add) {
  OnnxBuilder file(17);
  file.input("x", {1, 256});
  scale(file, "s", kScale, c.type, c.zero_point);
  codes(file, "low", {}, c.type, {3});
  codes(file, "high", {}, c.type, {90});
  codes(file, "row", {1, 256}, c.type, std::vector<int32_t>(256, 20));
  file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
  add(file);
  file.node("DequantizeLinear", {"m", "s", "s0"}, "y");
  file.output("y");
  return file.bytes();
}

// All codes, and what `f` makes of each.
void check(const Case& c, const std::function<void(OnnxBuilder&)>& add,
           const std::function<int32_t(int32_t)>& f, bool in_codes = true) {
  CAPTURE(c.type);
  CAPTURE(c.zero_point);
  std::vector<float> x, y;
  for (int32_t code = least(c); code < least(c) + 256; ++code) {
    x.push_back(kScale * static_cast<float>(code - c.zero_point));
    const int32_t given = f(code), within = least(c) + ((given - least(c)) & 255);
    y.push_back(kScale * static_cast<float>(within - c.zero_point));
  }
  Import import(network(c, add));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, x) == y);
  if (!in_codes) return;
  for (const GraphNode& node : import.graph().nodes)
    CHECK((node.op == Op::kQuantize || node.op == Op::kLookup || node.op == Op::kDequantize));
}

}  // namespace

TEST_CASE("bounds of codes: a reduced range") {
  for (const Case& c : kCases) {
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Clip", {"q", "", "high"}, "m");
        },
        [](int32_t code) { return std::min(code, 90); });
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Clip", {"q", "low", "high"}, "m");
        },
        [](int32_t code) { return std::clamp(code, 3, 90); });
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Clip", {"q", "low"}, "m");
        },
        [](int32_t code) { return std::max(code, 3); });
    check(
        c, [](OnnxBuilder& file) { file.node("Clip", {"q"}, "m"); }, [](int32_t code) { return code; });
    check(
        c, [](OnnxBuilder& file) { file.node("Relu", {"q"}, "m"); },
        [](int32_t code) { return std::max(code, 0); });
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Max", {"low", "q"}, "m");
        },
        [](int32_t code) { return std::max(code, 3); });
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Min", {"q", "high"}, "n");
          file.node("Max", {"n", "low"}, "m");
        },
        [](int32_t code) { return std::clamp(code, 3, 90); });
  }
}

TEST_CASE("other functions of codes are tables; what leaves 8 bits counts on from the other end") {
  for (const Case& c : kCases) {
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Add", {"q", "high"}, "m");
        },
        [](int32_t code) { return code + 90; });
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Sub", {"low", "q"}, "m");
        },
        [](int32_t code) { return 3 - code; });
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Mul", {"q", "low"}, "m");
        },
        [](int32_t code) { return 3 * code; });
    check(
        c, [](OnnxBuilder& file) { file.node("Sign", {"q"}, "m"); },
        [](int32_t code) { return code > 0 ? 1 : (code < 0 ? -1 : 0); });
    if (c.type == Type::UINT8) continue;
    check(
        c, [](OnnxBuilder& file) { file.node("Neg", {"q"}, "m"); }, [](int32_t code) { return -code; });
    check(
        c, [](OnnxBuilder& file) { file.node("Abs", {"q"}, "m"); },
        [](int32_t code) { return std::abs(code); });
  }
}

TEST_CASE("codes beside codes") {
  for (const Case& c : kCases) {
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Max", {"q", "row"}, "m");
        },
        [](int32_t code) { return std::max(code, 20); }, false);
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Clip", {"q", "low", "high"}, "n");
          file.node("Min", {"n", "q", "row"}, "m");
        },
        [](int32_t code) { return std::min(code, 20); }, false);
    check(
        c,
        [](OnnxBuilder& file) {
          file.node("Greater", {"q", "high"}, "is_high");
          file.node("Where", {"is_high", "low", "q"}, "m");
        },
        [](int32_t code) { return code > 90 ? 3 : code; }, false);
  }
}

TEST_CASE("a layer's own bounds hold those of its codes") {
  OnnxBuilder file(17);
  file.input("x", {1, 2});
  scale(file, "s", 0.5f, Type::UINT8, 0);
  codes(file, "high", {}, Type::UINT8, {127});
  file.floats("w", {2, 2}, {1, 0, 0, 1});
  file.floats("ws", {}, {1.0f / 64});
  codes(file, "wz", {}, Type::INT8, {0});
  file.node("QuantizeLinear", {"w", "ws", "wz"}, "wq");
  file.node("DequantizeLinear", {"wq", "ws", "wz"}, "wd");
  quantize(file, "x", "s", "xd");
  file.node("MatMul", {"xd", "wd"}, "p");
  file.node("QuantizeLinear", {"p", "s", "s0"}, "q");
  file.node("Clip", {"q", "", "high"}, "m");
  file.node("DequantizeLinear", {"m", "s", "s0"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops().size() == 3);
  CHECK(run_import<float>(import, std::vector<float>{40, 100}) == std::vector<float>{40, 63.5f});
}

TEST_CASE("codes of 16 bits are bounded, too; crossed bounds are refused") {
  OnnxBuilder file(17);
  file.input("x", {1, 3});
  scale(file, "s", 0.5f, Type::INT16, 0);
  codes(file, "low", {}, Type::INT16, {-3});
  codes(file, "high", {}, Type::INT16, {300});
  file.node("QuantizeLinear", {"x", "s", "s0"}, "q");
  file.node("Clip", {"q", "low", "high"}, "m");
  file.node("DequantizeLinear", {"m", "s", "s0"}, "y");
  file.output("y");
  CHECK(run_file(file.bytes(), {-9, 9.2f, 900}) == std::vector<float>{-1.5f, 9, 150});

  const auto crossed = [](OnnxBuilder& f) { f.node("Clip", {"q", "high", "low"}, "m"); };
  Import import(network(kCases[0], crossed));
  CHECK(!import.good());
  CHECK(import.message().find("it clips to 90 and 3; the first must not be above the second") !=
        std::string::npos);
}

}  // namespace intaglio::test::import_onnx_code_bounds_test
