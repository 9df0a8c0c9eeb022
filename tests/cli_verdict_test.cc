// The verdict on an int8 model, and that its remedy can help what is wrong.
#include "tools/calibration_figures.h"

#include <doctest/doctest.h>

#include "tests/support/run_cli.h"

namespace intaglio::test::cli_verdict_test {

using namespace tools;
using intaglio::test::holds;

TEST_CASE("a low SQNR asks for more bits, a low agreement for labels") {
  const Verdict noisy = judge({12.0, 0.95, 400, 32, ""});
  CHECK(noisy.grade == Grade::kFair);
  CHECK(!noisy.by_agreement);
  CHECK(holds(noisy.remedy, "--min-sqnr 20"));
  // More decibels are not what is missing.
  for (const double agreement : {0.94, 0.7}) {
    CAPTURE(agreement);
    const Verdict answers = judge({31.0, agreement, 400, 32, ""});
    CHECK(answers.grade == (agreement > 0.9 ? Grade::kFair : Grade::kPoor));
    CHECK(answers.by_agreement);
    CHECK(!holds(answers.remedy, "--min-sqnr"));
    CHECK(holds(answers.remedy, "compare --labels"));
    CHECK(holds(answers.remedy, "--max-drop"));
  }
  CHECK(!judge({31.0, 1.0, 400, 32, ""}).by_agreement);
  CHECK(!judge({9.0, std::nullopt, 400, 32, ""}).by_agreement);
}

TEST_CASE("the preprocessing and more samples come first") {
  CHECK(holds(judge({31.0, 0.7, 400, 32, "samples hold one value everywhere"}).remedy,
              "check the preprocessing first"));
  CHECK(holds(judge({31.0, 0.7, 400, 32, "samples hold one value everywhere", false}).remedy,
              "as the network was trained"));
  CHECK(holds(judge({31.0, 0.7, 12, 12, ""}).remedy, "more samples"));
}

}  // namespace intaglio::test::cli_verdict_test
