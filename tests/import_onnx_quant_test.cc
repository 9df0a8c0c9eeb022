// Quant of Brevitas and QONNX beside its definition.
#include <algorithm>
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_quant_test {
namespace {

using Reals = std::vector<float>;

struct Quant {
  float scale, zero_point, bits;
  bool is_signed, narrow;
};

OnnxBuilder file_of(const Quant& q, const char* domain = "onnx.brevitas") {
  OnnxBuilder file(13);
  file.input("x", {1, 9});
  file.floats("scale", {}, {q.scale});
  file.floats("zero", {}, {q.zero_point});
  file.floats("bits", {}, {q.bits});
  auto& node = file.node("Quant", {"x", "scale", "zero", "bits"}, "y");
  node.domain = domain;
  set(node, "signed", int64_t{q.is_signed});
  set(node, "narrow", int64_t{q.narrow});
  set(node, "rounding_mode", "ROUND");
  file.output("y");
  return file;
}

}  // namespace

TEST_CASE("an activation becomes the codes' numbers, and ends where they do") {
  const Reals x{-1000, -3.2f, -0.75f, -0.25f, 0, 0.3f, 1.25f, 6.6f, 1000};
  for (const Quant& q :
       {Quant{0.5f, 0, 4, true, false}, Quant{0.5f, 0, 4, true, true}, Quant{0.25f, 0, 8, false, false},
        Quant{0.25f, 3, 3, false, true}, Quant{0.125f, 0, 8, true, false}}) {
    CAPTURE(q.bits);
    for (const char* domain : {"onnx.brevitas", "qonnx.custom_op.general"}) {
      Import import(file_of(q, domain).bytes());
      REQUIRE_MESSAGE(import.good(), import.message());
      const float half = std::ldexp(1.0f, static_cast<int>(q.bits) - 1);
      const float least = q.is_signed ? -half + (q.narrow ? 1.0f : 0.0f) : 0.0f,
                  most = q.is_signed ? half - 1 : 2 * half - (q.narrow ? 2.0f : 1.0f);
      Reals expected;
      for (const float v : x)
        expected.push_back(
            (std::clamp(std::nearbyint(v / q.scale + q.zero_point), least, most) - q.zero_point) * q.scale);
      CHECK(run_import<float>(import, x) == expected);
    }
  }
}

TEST_CASE("constants take the codes' numbers, one scale a channel") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  file.floats("w", {2, 2}, {0.6f, 100, -0.3f, 7.4f});
  file.floats("scale", {1, 2}, {0.5f, 2});
  file.floats("zero", {}, {0});
  file.floats("bits", {}, {4});
  file.node("Quant", {"w", "scale", "zero", "bits"}, "q").domain = "onnx.brevitas";
  file.node("MatMul", {"x", "q"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{1, 1}) == Reals{0.5f - 0.5f, 14 + 8});
}

TEST_CASE("what is no such Quant is refused") {
  CHECK(Import(file_of({0.5f, 0, 1, true, false}).bytes()).says("its bit width is 1; 2 to 16 are supported"));
  CHECK(Import(file_of({0.5f, 0, 24, true, false}).bytes()).says("its bit width is 24"));
  CHECK(Import(file_of({0, 0, 8, true, false}).bytes()).says("the scale 0 is not within"));
  CHECK(Import(file_of({0.5f, 200, 8, true, false}).bytes())
            .says("the zero point 200 is not one of its codes"));
  CHECK(Import(file_of({0.5f, 0.5f, 8, true, false}).bytes())
            .says("the zero point 0.5 is not one of its codes"));
}

}  // namespace intaglio::test::import_onnx_quant_test
