// The soft multiply-add against the machine's own (libm's fmaf: the instruction, or an exact one), to the
// bit.
#include "kernels/arithmetic/fma_f32.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernels/arithmetic/output_f32.h"
#include "tests/support/float_bits.h"
#include "tests/support/random.h"

namespace intaglio::test::fma_f32_test {
namespace {

// NaN has many patterns; a kernel's output has one.
bool agree(float a, float b, float c) {
  const float expected = std::fma(a, b, c);
  const float soft = fma_f32_soft(a, b, c), chosen = fma_f32(a, b, c);
  if (std::isnan(expected)) return std::isnan(soft) && std::isnan(chosen);
  return bits_of(soft) == bits_of(expected) && bits_of(chosen) == bits_of(expected);
}

const float kSpecial[] = {0.0f,
                          -0.0f,
                          1.0f,
                          -1.0f,
                          0x1p-149f,
                          -0x1p-149f,
                          0x1.fffffep-127f,
                          -0x1.fffffep-127f,
                          0x1p-126f,
                          -0x1p-126f,
                          0x1.fffffep127f,
                          -0x1.fffffep127f,
                          0x1p127f,
                          -0x1p127f,
                          0x1p-75f,
                          -0x1p-75f,
                          0x1p64f,
                          -0x1p64f,
                          0x1.000002p0f,
                          -0x1.000002p0f,
                          0x1.fffffep0f,
                          -0x1.fffffep0f,
                          3.0f,
                          -3.0f,
                          0x1.8p-149f,
                          0x1.555556p-2f,
                          0x1p-24f,
                          0x1p-25f,
                          -0x1p-25f,
                          0x1p24f,
                          0x1.000002p24f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(),
                          -std::numeric_limits<float>::quiet_NaN()};

}  // namespace

TEST_CASE("every triple of special values") {
  for (const float a : kSpecial)
    for (const float b : kSpecial)
      for (const float c : kSpecial) {
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(c);
        REQUIRE(agree(a, b, c));
      }
}

TEST_CASE("random bit patterns") {
  Random random(1);
  const int32_t cases = test::shape_count(2000) * 1000;
  for (int32_t i = 0; i < cases; ++i)
    REQUIRE(agree(random.any_float(), random.any_float(), random.any_float()));
}

TEST_CASE("cancellation, ties and sums of near and far magnitudes") {
  Random random(2);
  const int32_t cases = test::shape_count(2000) * 1000;
  for (int32_t i = 0; i < cases; ++i) {
    const float a = std::ldexp(random.real(-2.0f, 2.0f), random.between(-70, 70));
    const float b = std::ldexp(random.real(-2.0f, 2.0f), random.between(-70, 70));
    // Few mantissa bits make exact ties frequent.
    const int32_t kind = random.between(0, 3);
    float c = -(a * b);
    if (kind == 1) c = std::ldexp(c, random.between(-60, 60));
    if (kind == 2) c = std::nextafter(c, random.one_in(2) ? 1e30f : -1e30f);
    const auto coarse = [](float v, uint32_t mask) {
      const uint32_t bits = bits_of(v) & mask;
      return f32_from_bits(bits);
    };
    if (kind == 3) {
      const float p = coarse(a, 0xfffff000u), q = coarse(b, 0xfffff000u);
      REQUIRE(agree(p, q, std::ldexp(p * q, random.between(-26, 26))));
    }
    REQUIRE(agree(a, b, c));
  }
}

TEST_CASE("results in the subnormal range round once") {
  Random random(3);
  const int32_t cases = test::shape_count(2000) * 500;
  for (int32_t i = 0; i < cases; ++i) {
    const float a = std::ldexp(random.real(-2.0f, 2.0f), random.between(-75, -60));
    const float b = std::ldexp(random.real(-2.0f, 2.0f), random.between(-90, -60));
    const float c = f32_from_bits(random.bits() & 0x80ffffffu);
    REQUIRE(agree(a, b, c));
  }
}

TEST_CASE("finish_f32: one NaN, one zero, the clamp as the contract writes it") {
  const float inf = std::numeric_limits<float>::infinity();
  const ClampF32 none{-inf, inf}, six{0.0f, 6.0f};
  for (const uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu}) {
    CHECK(bits_of(finish_f32(f32_from_bits(nan), none)) == 0x7fc00000u);
    CHECK(bits_of(finish_f32(f32_from_bits(nan), six)) == 0x7fc00000u);
  }
  CHECK(bits_of(finish_f32(-0.0f, none)) == 0);
  CHECK(bits_of(finish_f32(-1.0f, {-0.0f, 1.0f})) == 0);
  CHECK(finish_f32(-1.0f, six) == 0.0f);
  CHECK(finish_f32(7.0f, six) == 6.0f);
  CHECK(finish_f32(inf, none) == inf);
}

}  // namespace intaglio::test::fma_f32_test
