// The int32 to int8 step, and integer addition, against the contract written with libm and 64-bit integers.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kernels/arithmetic/requant_soft.h"
#include "tests/support/random.h"

namespace intaglio::test::requant_test {

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

TEST_CASE("requantizing in integers: the float operations' codes, or none") {
  Random random(11);
  int32_t cases = 0, undecided = 0;
  const auto check = [&](int32_t acc, float multiplier, const OutputS8& output) {
    CAPTURE(acc);
    CAPTURE(multiplier);
    const int32_t code = requantize_by_words(acc, multiplier, make_output_soft(output));
    ++cases;
    if (code == kUndecided)
      ++undecided;
    else
      CHECK(code == requantize_s8(acc, multiplier, output));
  };
  const auto random_output = [&](bool whole) {
    const int32_t zero_point = random.between(-128, 127), lo = random.between(-128, 127);
    return whole ? make_output_s8(zero_point, -128, 127)
                 : make_output_s8(zero_point, lo, random.between(lo, 127));
  };
  // Sums of any size, and multipliers that bring most of them near the codes.
  const auto draw = [&](bool halves) {
    const int32_t bits = random.between(1, 31);
    const auto size = static_cast<int32_t>(random.bits() >> (32 - bits) & 0x7fffffffu);
    const float multiplier =
        halves ? std::ldexp(static_cast<float>(random.between(1, 63)), -bits - random.between(0, 4))
               : std::ldexp(random.real(0.5f, 1.0f), 9 - bits - random.between(0, 4));
    check(random.one_in(2) ? size : -size, multiplier, random_output(random.one_in(2)));
  };
  for (int32_t i = 0; i < 400000; ++i) draw(random.one_in(3));
  // What a layer gives: one result in 128 is near a half.
  cases = undecided = 0;
  for (int32_t i = 0; i < 200000; ++i)
    check(random.between(-20000, 20000), random.real(0.001f, 0.01f), make_output_s8(0, -128, 127));
  CHECK(undecided < cases / 100);
  const OutputS8 all = make_output_s8(0, -128, 127);
  for (int32_t exponent = -126; exponent < 128; ++exponent)
    for (const float mantissa : {1.0f, 1.0f + 0x1p-23f, 1.5f, 0x1.fffefep0f, 0x1.ffffp0f, 0x1.fffffep0f})
      for (const int32_t acc : {0, 1, -1, 127, -128, (1 << 23) - 1, (1 << 24) + 1, -(1 << 30), INT32_MAX,
                                INT32_MIN, INT32_MIN + 1})
        check(acc, std::ldexp(mantissa, exponent), all);
  // The sums on both sides of each half, of which the float operations may take either.
  for (int32_t i = 0; i < 100000; ++i) {
    const float multiplier = std::ldexp(random.real(0.5f, 1.0f), random.between(-22, -1));
    const double half = random.between(-256, 255) + 0.5;
    const double acc = std::nearbyint(half / static_cast<double>(multiplier));
    for (int32_t step = -2; step <= 2; ++step)
      check(static_cast<int32_t>(acc) + step, multiplier, random_output(random.one_in(2)));
  }
  for (const float multiplier : {0.0f, std::numeric_limits<float>::denorm_min(), 0x1p9f, 0x1p-24f,
                                 std::numeric_limits<float>::infinity(), -0.01f})
    CHECK(requantize_by_words(1, multiplier, make_output_soft(all)) == kUndecided);
}

}  // namespace intaglio::test::requant_test
