// The verdict on an int8 model, and that its remedy can help what is wrong.
#include "tools/calibration_figures.h"

#include <doctest/doctest.h>

#include "calibrator/host/system/wording.h"
#include "tests/support/run_cli.h"
#include "tools/remedy.h"

namespace intaglio::test::cli_verdict_test {

using namespace tools;
using intaglio::test::holds;

TEST_CASE("a low SQNR asks for more bits, a low agreement for labels") {
  const Verdict noisy = judge({12.0, 0.95, 400, 0.5, ""});
  CHECK(noisy.grade == Grade::kFair);
  CHECK(!noisy.by_agreement);
  CHECK(holds(noisy.remedy, "--min-sqnr 20"));
  // More decibels are not what is missing.
  for (const double agreement : {0.94, 0.7}) {
    CAPTURE(agreement);
    const Verdict answers = judge({31.0, agreement, 400, 0.5, ""});
    CHECK(answers.grade == (agreement > 0.9 ? Grade::kFair : Grade::kPoor));
    CHECK(answers.by_agreement);
    CHECK(!holds(answers.remedy, "--min-sqnr"));
    CHECK(holds(answers.remedy, "compare --labels"));
    CHECK(holds(answers.remedy, "--max-drop"));
  }
  CHECK(!judge({31.0, 1.0, 400, 0.5, ""}).by_agreement);
  CHECK(!judge({9.0, std::nullopt, 400, 0.5, ""}).by_agreement);
}

TEST_CASE("the preprocessing and too few samples come first") {
  CHECK(holds(judge({31.0, 0.7, 400, 0.5, "samples hold one value everywhere"}).remedy,
              "check the preprocessing first"));
  CHECK(holds(judge({31.0, 0.7, 400, 0.5, "samples hold one value everywhere", false}).remedy,
              "as the network was trained"));
  // Too few are samples that the model fits far better than others, however many they are.
  CHECK(holds(judge({9.0, 0.7, 64, 5.5, ""}).remedy, "more samples"));
  CHECK(!holds(judge({9.0, 0.7, 6, 1.0, ""}).remedy, "more samples"));
}

// The figures behind a verdict, and what was tried.
CalibrationFigures figures_with(const Judgeable& judgeable, RemedyTrial& trial, double after) {
  CalibrationFigures figures;
  figures.verdict = judge(judgeable);
  figures.command = "what the verdict alone advises";
  trial.before.sqnr = judgeable.sqnr;
  trial.after.sqnr = after;
  trial.helps = after - judgeable.sqnr >= kLeastRemedyGain;
  name_remedy(trial, figures);
  return figures;
}

TEST_CASE("what was tried is named with its gain, or as what does not help") {
  RemedyTrial layers;
  layers.changes.float_nodes = {3, 7};
  const CalibrationFigures good = figures_with({9.0, std::nullopt, 16, 0.5, ""}, layers, 13.2);
  CHECK(good.verdict.kind == Remedy::kTried);
  CHECK(good.verdict.remedy == "--keep-float @3,@7 gains 4.2 dB on the samples held out");
  const CalibrationFigures weak = figures_with({9.0, std::nullopt, 16, 0.5, ""}, layers, 9.5);
  CHECK(weak.command.empty());
  CHECK(weak.verdict.remedy ==
        "none of those tried helps: --keep-float @3,@7 was tried, and gains only 0.5 dB on the samples held "
        "out");
  CHECK(holds(figures_with({9.0, std::nullopt, 16, 0.5, ""}, layers, 8.0).verdict.remedy, "loses 1.0 dB"));
  // More decibels were found, and no more of FP32's answers.
  layers.helps = false;
  CalibrationFigures answers;
  answers.verdict = judge({31.0, 0.7, 400, 0.5, ""});
  name_remedy(layers, answers);
  CHECK(holds(answers.verdict.remedy, "compare --labels"));
  RemedyTrial options;
  options.changes.left_out = {"weight-bits", "int8-answers"};
  CHECK(figures_with({9.0, std::nullopt, 16, 0.5, ""}, options, 19.0).verdict.remedy ==
        "without --weight-bits and --int8-answers: that gains 10.0 dB on the samples held out");
  options.sure = false;
  CHECK(
      figures_with({9.0, std::nullopt, 16, 6.0, ""}, options, 19.0)
          .verdict.remedy.rfind(
              "without --weight-bits and --int8-answers: that gains some dB; these samples are too few to say "
              "how much: calibrate with more samples",
              0) == 0);
  RemedyTrial none;
  none.untried = "no few layers make its error";
  CHECK(holds(figures_with({9.0, std::nullopt, 16, 0.5, ""}, none, 9.0).verdict.remedy,
              "not tried, since no few layers make its error"));
}

TEST_CASE("the changed options as Python has them") {
  const WordedFor worded(Wording::kPython);
  OptionChanges changes;
  changes.float_nodes = {3, 7};
  CHECK(option_text(changes) == "keep_float='@3,@7'");
}

}  // namespace intaglio::test::cli_verdict_test
