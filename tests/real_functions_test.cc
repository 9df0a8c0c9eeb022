// Double functions of baked tables against the machine's own in more bits.
#include "runtime/real_functions.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

namespace intaglio::test::real_functions_test {
namespace {

double distance(double found, long double exact) {
  return static_cast<double>(std::fabs(static_cast<long double>(found) - exact));
}

}  // namespace

TEST_CASE("sigmoid, tanh and the error function within 1e-13") {
  for (int32_t i = -20000; i <= 20000; ++i) {
    const double x = i * 0x1p-11 * 1.37;
    const long double exact = static_cast<long double>(x);
    REQUIRE(distance(sigmoid_real(x), 1.0L / (1.0L + std::exp(-exact))) < 1e-13);
    REQUIRE(distance(tanh_real(x), std::tanh(exact)) < 1e-13);
    const long double erf = std::erf(exact);
    REQUIRE(distance(erf_real(x), erf) <= 1e-13 * static_cast<double>(std::fabs(erf)));
  }
}

TEST_CASE("square root and logarithm, of all magnitudes") {
  for (int32_t i = -4200; i <= 4000; ++i) {
    const double x = std::ldexp(1.0 + 0.37 * (i & 1) + 0.11 * (i & 3), i / 4);
    const long double root = std::sqrt(static_cast<long double>(x));
    REQUIRE(distance(sqrt_real(x), root) <= 3e-16 * static_cast<double>(root));
    REQUIRE(distance(log_real(x), std::log(static_cast<long double>(x))) <=
            1e-13 * std::fabs(std::log(x)) + 1e-13);
  }
}

TEST_CASE("their ends") {
  CHECK(sqrt_real(0.0) == 0.0);
  CHECK(std::isnan(sqrt_real(-1.0)));
  CHECK(std::isnan(sqrt_real(std::nan(""))));
  CHECK(std::isinf(sqrt_real(std::numeric_limits<double>::infinity())));
  CHECK(log_real(1.0) == 0.0);
  CHECK(log_real(0.0) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(log_real(-1.0)));
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double far : {800.0, infinity}) {
    CHECK(sigmoid_real(far) == 1.0);
    CHECK(sigmoid_real(-far) == 0.0);
    CHECK(tanh_real(far) == 1.0);
    CHECK(tanh_real(-far) == -1.0);
    CHECK(erf_real(far) == 1.0);
    CHECK(erf_real(-far) == -1.0);
  }
  CHECK(tanh_real(0.0) == 0.0);
  CHECK(erf_real(0.0) == 0.0);
  CHECK(std::isnan(erf_real(std::nan(""))));
  CHECK(std::isnan(sigmoid_real(std::nan(""))));
}

TEST_CASE("logarithms of many numbers are those of each, to the bit") {
  constexpr int32_t kCount = 999;
  double x[kCount], logs[kCount + 1];
  for (const int32_t count : {kCount, kCount - 1, 1, 0}) {
    for (int32_t i = 0; i < count; ++i) x[i] = std::ldexp(1.0 + i / 997.0, (i * 37) % 2045 - 1022);
    x[count / 2] = std::sqrt(2.0);
    logs[count] = -7.0;
    log2_each(x, count, logs);
    for (int32_t i = 0; i < count; ++i) REQUIRE(logs[i] == log2_real(x[i]));
    CHECK(logs[count] == -7.0);
  }
  REQUIRE(std::fabs(log2_real(3.0) - std::log2(3.0)) < 1e-13);
}

}  // namespace intaglio::test::real_functions_test
