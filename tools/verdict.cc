#include "tools/verdict.h"

#include <cmath>

#include "calibrator/host/system/wording.h"

namespace intaglio::tools {
namespace {

constexpr double kGoodSqnr = 20, kGoodAgreement = 0.97, kFairSqnr = 15, kBestAgreement = 0.99, kPoorSqnr = 8,
                 kPoorAgreement = 0.9;

// Fewer equal classes than a model that agrees with this share would show by chance (two deviations).
bool surely_below(double agreement, double share, size_t judged) {
  const double chance = 2 * std::sqrt(share * (1 - share) / static_cast<double>(judged));
  return agreement < share - chance;
}

Grade grade_of(const Judgeable& figures) {
  if (figures.judged == 0 || std::isnan(figures.sqnr)) return Grade::kNone;
  if (figures.sqnr < kPoorSqnr) return Grade::kPoor;
  if (!figures.agreement) return figures.sqnr >= kGoodSqnr ? Grade::kGood : Grade::kFair;
  if (surely_below(*figures.agreement, kPoorAgreement, figures.judged)) return Grade::kPoor;
  const bool good = (figures.sqnr >= kGoodSqnr && *figures.agreement >= kGoodAgreement) ||
                    (figures.sqnr >= kFairSqnr && *figures.agreement >= kBestAgreement);
  // With another preprocessing these figures are of other samples than the network will see.
  return good && figures.preprocessing_sign.empty() ? Grade::kGood : Grade::kFair;
}

}  // namespace

Verdict judge(const Judgeable& figures) {
  Verdict verdict;
  if (!figures.at_hand) {
    verdict.text = "No sample is at hand, so nothing was measured.";
    verdict.remedy = "compare it with the FP32 model on samples: " + tool_word("compare");
    return verdict;
  }
  verdict.grade = grade_of(figures);
  verdict.by_agreement = verdict.grade != Grade::kGood && figures.agreement && figures.sqnr >= kGoodSqnr;
  switch (verdict.grade) {
    case Grade::kNone:
      verdict.text = figures.judged == 0 ? "Too few samples to hold any out, so nothing is known of others."
                                         : "The outputs are zero for every sample held out.";
      break;
    case Grade::kGood:
      verdict.text = "The int8 model gives nearly what the FP32 model gives.";
      break;
    case Grade::kFair:
      verdict.text = "The int8 model differs from the FP32 model in part.";
      break;
    case Grade::kPoor:
      verdict.text = "The int8 model differs much from the FP32 model. Find out why before it is used.";
      break;
  }
  if (verdict.grade == Grade::kGood) return verdict;
  if (!figures.preprocessing_sign.empty()) {
    verdict.kind = Remedy::kPreprocessing;
    verdict.remedy =
        "check the preprocessing first, since " + figures.preprocessing_sign +
        (figures.of_pictures
             ? ": import with the pixels' range, mean and norm that the network was trained with, or give "
               "arrays in that unit"
             : ": give arrays of values as the network was trained with");
  } else if (figures.samples < kEnoughSamples) {
    verdict.kind = Remedy::kMoreSamples;
    verdict.remedy = "calibrate with more samples, 16 to 64, of all kinds that will occur";
  } else if (verdict.by_agreement) {
    verdict.kind = Remedy::kLabels;
    verdict.remedy = "see with labels whether answers are lost, or only ties fall the other way: " +
                     (wording_here() == Wording::kPython ? tool_word("compare", "labels")
                                                         : "intaglio compare --labels LABELS.txt") +
                     "; if they are lost, " + option_word("max-drop", "POINTS") + " " +
                     option_word("labels", "LABELS.txt") + " gives the fewest layers more bits";
  } else {
    verdict.kind = Remedy::kWiderLayers;
    verdict.remedy = "see which layers lose most (" + option_word("report", "PAGE.html") + "); " +
                     option_word("min-sqnr", "20") + " gives the fewest layers more bits";
  }
  return verdict;
}

const char* grade_name(Grade grade) {
  switch (grade) {
    case Grade::kNone:
      return "";
    case Grade::kGood:
      return "good";
    case Grade::kFair:
      return "fair";
    case Grade::kPoor:
      return "poor";
  }
  return "";
}

}  // namespace intaglio::tools
