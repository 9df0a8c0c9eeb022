// Integer multipliers of an addition against the formula in double (tests/spec/arithmetic.py, add_params).
#include "runtime/add_params.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/random.h"

namespace intaglio::test::add_params_test {

using intaglio::test::Random;

namespace {

struct Expected {
  bool ok;
  int32_t a, b, shift;
};

Expected spec(float s_a, float s_b, float s_out, int32_t bits) {
  double m_a = static_cast<double>(s_a) / static_cast<double>(s_out);
  double m_b = static_cast<double>(s_b) / static_cast<double>(s_out);
  int32_t k = bits - 1 - static_cast<int32_t>(std::floor(std::log2(std::max(m_a, m_b))));
  if (bits == kMaxAddBits) {
    m_a = static_cast<double>(s_a / s_out);
    m_b = static_cast<double>(s_b / s_out);
  }
  k = std::min(std::max(k, 1), 30);
  const double a = std::nearbyint(std::ldexp(m_a, k)), b = std::nearbyint(std::ldexp(m_b, k));
  const double most = std::ldexp(1.0, bits) - 1.0;
  if (std::max(a, b) > most + 1.0 || std::max(m_a, m_b) >= 32768.0) return {false, 0, 0, 0};
  return {true, static_cast<int32_t>(std::min(a, most)), static_cast<int32_t>(std::min(b, most)), k};
}

void check_bits(float s_a, float s_b, float s_out, int32_t bits) {
  CAPTURE(s_a);
  CAPTURE(s_b);
  CAPTURE(s_out);
  AddS8 p = {1, 2, 0, 0, 0, 3, -100, 101};
  const bool ok = set_add_multipliers(s_a, s_b, s_out, &p, bits);
  const Expected expected = spec(s_a, s_b, s_out, bits);
  REQUIRE(ok == expected.ok);
  if (!ok) return;
  REQUIRE(p.a_multiplier == expected.a);
  REQUIRE(p.b_multiplier == expected.b);
  REQUIRE(p.right_shift == expected.shift);
  REQUIRE((p.a_zero_point == 1 && p.b_zero_point == 2 && p.zero_point == 3 && p.lo == -100 && p.hi == 101));
}

void check(float s_a, float s_b, float s_out) {
  for (const int32_t bits : {kAddBits, 18, 20, kMaxAddBits}) check_bits(s_a, s_b, s_out, bits);
}

}  // namespace

TEST_CASE("random scales") {
  Random random(1);
  const int32_t cases = test::shape_count(2000) * 500;
  for (int32_t i = 0; i < cases; ++i) {
    const int32_t spread = random.one_in(4) ? 40 : 3;
    const auto scale = [&] {
      const float mantissa = random.one_in(4) ? 1.0f : random.real(1.0f, 1.9999999f);
      return std::ldexp(mantissa, random.between(-spread, spread - 1));
    };
    check(scale(), scale(), scale());
  }
}

TEST_CASE("ratios next to powers of two and to ties") {
  Random random(2);
  const int32_t cases = test::shape_count(2000) * 200;
  for (int32_t i = 0; i < cases; ++i) {
    const float s_out = std::ldexp(random.real(1.0f, 1.9999999f), random.between(-10, 10));
    // (integer + 1/2) / 2^k times s_out, and its neighbours.
    const float half = static_cast<float>(random.between(16384, 32767)) + 0.5f;
    const float near = std::ldexp(half, random.between(-20, 0)) * s_out;
    const float power = std::ldexp(s_out, random.between(-20, 14));
    for (const float s : {near, power}) {
      check(s, s_out, s_out);
      check(std::nextafter(s, 0.0f), s, s_out);
      check(std::nextafter(s, 1e30f), s_out, s_out);
    }
  }
}

TEST_CASE("powers of two, both ends of the range") {
  for (int32_t a = -40; a <= 40; ++a)
    for (int32_t out = -40; out <= 40; ++out) check(std::ldexp(1.0f, a), 0x1p-40f, std::ldexp(1.0f, out));
}

TEST_CASE("what is not a positive normal number is refused") {
  AddS8 p;
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad :
       {0.0f, -0.0f, -1.0f, inf, -inf, std::numeric_limits<float>::quiet_NaN(), 0x1p-127f}) {
    CHECK_FALSE(set_add_multipliers(bad, 1.0f, 1.0f, &p));
    CHECK_FALSE(set_add_multipliers(1.0f, bad, 1.0f, &p));
    CHECK_FALSE(set_add_multipliers(1.0f, 1.0f, bad, &p));
  }
  CHECK(set_add_multipliers(1.0f, 1.0f, 1.0f, &p));
  CHECK(p.a_multiplier == 16384);
  CHECK(p.right_shift == 14);
}

}  // namespace intaglio::test::add_params_test
