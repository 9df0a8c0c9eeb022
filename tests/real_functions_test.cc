// Double functions of baked tables against the machine's own in more bits.
#include "runtime/real_functions.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace intaglio;

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

TEST_CASE("their ends") {
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
