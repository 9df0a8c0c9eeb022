// The int32 to int8 step, and integer addition, against the contract written with libm and 64-bit integers.
#include "kernels/arithmetic/requant.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/random.h"

using namespace intaglio;
using intaglio::test::Random;

namespace {

int32_t reference(int32_t acc, float multiplier, int32_t zero_point, int32_t lo, int32_t hi) {
  const float v = static_cast<float>(acc) * multiplier;
  const float low = static_cast<float>(lo - zero_point), high = static_cast<float>(hi - zero_point);
  return static_cast<int32_t>(std::nearbyint(std::fmin(std::fmax(v, low), high))) + zero_point;
}

}  // namespace

TEST_CASE("round_half_even is nearbyint") {
  for (int32_t i = -2000; i <= 2000; ++i) {
    const float v = static_cast<float>(i) * 0.25f;
    REQUIRE(round_half_even(v) == static_cast<int32_t>(std::nearbyint(v)));
    REQUIRE(round_half_even(std::nextafter(v, 1e9f)) == std::lrint(std::nextafter(v, 1e9f)));
    REQUIRE(round_half_even(std::nextafter(v, -1e9f)) == std::lrint(std::nextafter(v, -1e9f)));
  }
  CHECK(round_half_even(4194303.5f) == 4194304);
  CHECK(round_half_even(-4194302.5f) == -4194302);
}

TEST_CASE("requantize_s8 is the contract") {
  Random random(1);
  const int32_t cases = test::shape_count(2000) * 500;
  for (int32_t i = 0; i < cases; ++i) {
    const int32_t zero_point = random.between(-128, 127);
    const int32_t a = random.between(-128, 127), b = random.between(-128, 127);
    const int32_t lo = a < b ? a : b, hi = a < b ? b : a;
    const auto acc = static_cast<int32_t>(random.bits()) >> random.between(0, 31);
    const float multiplier = std::ldexp(random.real(0.5f, 1.0f), random.between(-40, 10));
    REQUIRE(requantize_s8(acc, multiplier, make_output_s8(zero_point, lo, hi)) ==
            reference(acc, multiplier, zero_point, lo, hi));
  }
}

TEST_CASE("requantize_s8 at its ends") {
  const OutputS8 all = make_output_s8(0, -128, 127);
  CHECK(requantize_s8(INT32_MAX, 1.0f, all) == 127);
  CHECK(requantize_s8(INT32_MIN, 1.0f, all) == -128);
  CHECK(requantize_s8(INT32_MAX, 3e38f, all) == 127);  // infinite before the clamp
  CHECK(requantize_s8(INT32_MIN, 3e38f, all) == -128);
  CHECK(requantize_s8(0, 3e38f, all) == 0);
  CHECK(requantize_s8(1, 0.5f, all) == 0);  // ties to even
  CHECK(requantize_s8(3, 0.5f, all) == 2);
  CHECK(requantize_s8(-1, 0.5f, all) == 0);
  CHECK(requantize_s8(-3, 0.5f, all) == -2);
  CHECK(requantize_s8(INT32_MAX, 1.0f, make_output_s8(-128, -128, 127)) == 127);
  CHECK(requantize_s8(INT32_MIN, 1.0f, make_output_s8(127, -128, 127)) == -128);
}

TEST_CASE("add_s8 is the contract in 64 bits") {
  Random random(2);
  const int32_t cases = test::shape_count(2000) * 500;
  for (int32_t i = 0; i < cases; ++i) {
    AddS8 p;
    p.a_zero_point = random.between(-128, 127);
    p.b_zero_point = random.between(-128, 127);
    p.a_multiplier = random.between(0, 32767);
    p.b_multiplier = random.one_in(8) ? 32767 : random.between(0, 32767);
    p.right_shift = random.between(1, 30);
    p.zero_point = random.between(-128, 127);
    p.lo = random.between(-128, 127);
    p.hi = random.between(p.lo, 127);
    const int32_t a = random.between(-128, 127), b = random.between(-128, 127);
    const int64_t sum =
        int64_t{a - p.a_zero_point} * p.a_multiplier + int64_t{b - p.b_zero_point} * p.b_multiplier;
    const double exact = std::floor(static_cast<double>(sum) / std::ldexp(1.0, p.right_shift) + 0.5);
    double expected = exact + p.zero_point;
    expected = expected < p.lo ? p.lo : (expected > p.hi ? p.hi : expected);
    REQUIRE(add_s8(a, b, p) == static_cast<int32_t>(expected));
  }
}
