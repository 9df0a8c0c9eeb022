// The time that a whole calibration takes, told from its first stages.
#include <doctest/doctest.h>

#include "tools/calibration_figures.h"

namespace intaglio::test::cli_estimate_test {

using namespace tools;

namespace {

const std::vector<StageTime> kSoFar = {
    {"looking at samples", 1.0}, {"calibrating", 2.0}, {"bake", 0.5}, {"first replay", 0.25}};

}  // namespace

TEST_CASE("nothing is told before the first replay, and the same from then on") {
  const TimeEstimate estimate = estimate_of(recovery::kDefault, false);
  REQUIRE(estimate);
  for (size_t n = 0; n < kSoFar.size(); ++n)
    CHECK_FALSE(estimate({kSoFar.begin(), kSoFar.begin() + static_cast<ptrdiff_t>(n)}));
  const auto seconds = estimate(kSoFar);
  REQUIRE(seconds);
  CHECK(*seconds == doctest::Approx(3.75 + 1.7 * 2.0 + 6.2 * 0.5 + 3.4 * 0.25));
  auto later = kSoFar;
  later.push_back({"range method", 5.0});
  CHECK(estimate(later) == seconds);
}

TEST_CASE("each set of recoveries has its law, and judged layers take longer") {
  const auto seconds = [](RecoveryMask recover, bool layers) {
    return *estimate_of(recover, layers)(kSoFar);
  };
  CHECK(seconds(recovery::kNone, false) < seconds(recovery::kBiasCorrection, false));
  CHECK(seconds(recovery::kBiasCorrection, false) < seconds(recovery::kDefault, false));
  CHECK(seconds(recovery::kNone, false) < seconds(recovery::kNone, true));
}

TEST_CASE("recoveries whose cost the first stages do not tell have none") {
  CHECK_FALSE(estimate_of(recovery::kAll, false));
  CHECK_FALSE(estimate_of(recovery::kDefault | recovery::kWeightScales, false));
}

}  // namespace intaglio::test::cli_estimate_test
