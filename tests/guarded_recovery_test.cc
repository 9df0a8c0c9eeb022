// The guard of a calibration's steps: which of two models stays, and the record of why.
#include <doctest/doctest.h>

#include "calibrator/recover/recovery.h"

namespace intaglio::test::guarded_recovery_test {
namespace {

NetworkError ratio(double noise) { return {1.0, noise}; }

}  // namespace

TEST_CASE("a step stays where the error does not grow, or falls below a share of it") {
  RecoveryRecord room[8];
  Guard guard({room, 8}, true);
  CHECK(guard.keeps(recovery::kBiasCorrection, ratio(0.5), ratio(0.5)));
  CHECK(guard.keeps(recovery::kBiasCorrection, ratio(0.5), ratio(0.25)));
  CHECK_FALSE(guard.keeps(recovery::kBiasCorrection, ratio(0.5), ratio(0.75)));
  CHECK_FALSE(guard.keeps(recovery::kEqualization, ratio(0.5), ratio(0.4375), 0.75));
  CHECK(guard.keeps(recovery::kEqualization, ratio(0.5), ratio(0.25), 0.75));
  CHECK_FALSE(guard.keeps(recovery::kEqualization, ratio(0.0), ratio(0.0), 0.75));
  const RecoveryVerdict verdicts[] = {RecoveryVerdict::kKept,         RecoveryVerdict::kKept,
                                      RecoveryVerdict::kNetworkWorse, RecoveryVerdict::kNetworkWorse,
                                      RecoveryVerdict::kKept,         RecoveryVerdict::kNetworkWorse};
  REQUIRE(guard.records().size == 6);
  for (size_t i = 0; i < 6; ++i) CHECK(guard.records()[i].verdict == verdicts[i]);
  CHECK(guard.records()[1].before == 0.5);
  CHECK(guard.records()[1].after == 0.25);
}

TEST_CASE("a step that is not tried is recorded with the error as it was; a full record stays as it is") {
  RecoveryRecord room[1];
  Guard guard({room, 1}, true);
  Candidate now;
  now.error = ratio(0.5);
  guard.not_tried(recovery::kRangeMethod, now, RecoveryVerdict::kTooFewSamples);
  CHECK(guard.keeps(recovery::kBiasCorrection, ratio(0.5), ratio(0.25)));
  REQUIRE(guard.records().size == 1);
  CHECK(guard.records()[0].recovery == recovery::kRangeMethod);
  CHECK(guard.records()[0].before == 0.5);
  CHECK(guard.records()[0].after == 0.5);
  CHECK(guard.records()[0].verdict == RecoveryVerdict::kTooFewSamples);
}

TEST_CASE("each recovery has a rule of its own") {
  for (const RecoveryRule& rule : recovery_rules()) CHECK(&rule_of(rule.bit) == &rule);
}

}  // namespace intaglio::test::guarded_recovery_test
