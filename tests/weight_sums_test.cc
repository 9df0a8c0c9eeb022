// Sums of weights against a plain loop: every short length, and extremes long enough to overflow narrow sums.
#include "kernels/arithmetic/constant_checks.h"

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace intaglio::test::weight_sums_test {

using intaglio::test::Exact;
using intaglio::test::Random;

namespace {

void check(const std::vector<int8_t>& codes) {
  CAPTURE(codes.size());
  int64_t sum = 0, magnitude = 0;
  for (const int32_t code : codes) {
    sum += code;
    magnitude += code < 0 ? -code : code;
  }
  const Exact<int8_t> weights(codes);
  const WeightSums found = sum_weights(weights.data(), static_cast<int64_t>(codes.size()));
  REQUIRE(found.sum == sum);
  REQUIRE(found.magnitude == magnitude);
}

}  // namespace

TEST_CASE("random codes of every length up to 80, and of some long ones") {
  Random random(1);
  for (size_t n = 1; n <= 80; ++n) check(random.codes(n));
  for (const size_t n : {1023, 1024, 1025, 1040, 4608, 100003}) check(random.codes(n));
}

TEST_CASE("extremes") {
  for (const int32_t code : {-128, -127, -1, 0, 127})
    for (const size_t n : {1, 15, 16, 17, 1024, 5000})
      check(std::vector<int8_t>(n, static_cast<int8_t>(code)));
}

}  // namespace intaglio::test::weight_sums_test
