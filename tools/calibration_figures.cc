#include "tools/calibration_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "calibrator/host/system/wording.h"
#include "calibrator/observe/digest.h"
#include "calibrator/recover/recovery.h"
#include "tools/class_scores.h"
#include "tools/layer_comparison.h"
#include "tools/text.h"

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
  if (figures.agreement && surely_below(*figures.agreement, kPoorAgreement, figures.judged))
    return Grade::kPoor;
  const double agreement = figures.agreement.value_or(kGoodAgreement);
  const bool good = (figures.sqnr >= kGoodSqnr && agreement >= kGoodAgreement) ||
                    (figures.sqnr >= kFairSqnr && agreement >= kBestAgreement);
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
  } else if (verdict.grade == Grade::kNone) {
    verdict.kind = Remedy::kMoreSamples;
    verdict.remedy = "calibrate with more samples, 16 to 64, of all kinds that will occur";
  } else if (std::isfinite(figures.gap) && figures.gap >= kWideGap) {
    verdict.kind = Remedy::kMoreSamples;
    verdict.remedy =
        "calibrate with more samples, of all kinds that will occur: on those that calibrated it the model is " +
        decimal(figures.gap, 1) + " dB better than on others";
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

std::string sha256_text(Span<const uint8_t> bytes) {
  Sha256 sha;
  sha.update(bytes.data, bytes.size);
  std::string text;
  for (const uint8_t byte : sha.finish().bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<RecoverySummary> summarize(Span<const RecoveryRecord> records, const std::string& method) {
  std::vector<RecoverySummary> summaries;
  for (const RecoveryRule& rule : recovery_rules()) {
    RecoverySummary summary;
    summary.title = rule.title;
    for (const RecoveryRecord& record : records) {
      if (record.recovery != rule.bit) continue;
      const bool kept = record.verdict == RecoveryVerdict::kKept;
      if (summary.attempts++ == 0) summary.before = record.before;
      summary.kept += kept ? 1 : 0;
      summary.in_blocks = record.first_node >= 0;
      // The last attempt of a block; the kept attempt of the whole model, else its last one.
      if (kept || (!summary.in_blocks && summary.kept == 0))
        summary.after = record.after;
      else if (summary.in_blocks)
        summary.after = record.before;
      if (record.verdict == RecoveryVerdict::kTooFewSamples)
        summary.outcome = "not tried with fewer than " + std::to_string(rule.least_samples) + " samples";
      if (record.verdict == RecoveryVerdict::kNoSource)
        summary.outcome = "not tried, since the samples cannot be read again";
      if (record.verdict == RecoveryVerdict::kUnjudged)
        summary.outcome = "kept, from what was observed; no samples judge it";
      if (record.verdict == RecoveryVerdict::kNothingToDo)
        summary.outcome = "not tried, since this model has nothing that it could change";
    }
    if (summary.attempts == 0) continue;
    summary.tried = summary.outcome.empty();
    if (summary.tried && summary.in_blocks)
      summary.outcome = std::to_string(summary.kept) + " of " + std::to_string(summary.attempts) +
                        " blocks kept, measured on samples held out";
    else if (summary.tried && rule.bit == recovery::kRangeMethod)
      summary.outcome = summary.kept > 0 ? method + " kept" : "auto stays: none of the others gains enough";
    else if (summary.tried)
      summary.outcome = summary.kept > 0                 ? "kept"
                        : summary.after < summary.before ? "undone: the gain is too small to be sure of"
                                                         : "undone: the error of the model's outputs grew";
    summaries.push_back(summary);
  }
  return summaries;
}

const char* recovery_title(RecoveryMask bit) {
  for (const RecoveryRule& rule : recovery_rules())
    if (rule.bit == bit) return rule.title;
  return "";
}

const char* verdict_text(RecoveryVerdict verdict) {
  switch (verdict) {
    case RecoveryVerdict::kKept:
      return "kept";
    case RecoveryVerdict::kNetworkWorse:
      return "undone: the error of the model's outputs grew";
    case RecoveryVerdict::kBlockWorse:
      return "undone: the block's own error did not fall";
    case RecoveryVerdict::kTooFewSamples:
      return "not tried: too few samples";
    case RecoveryVerdict::kUnjudged:
      return "kept, unjudged";
    case RecoveryVerdict::kNoSource:
      return "not tried: the samples cannot be read again";
    case RecoveryVerdict::kNothingToDo:
      return "not tried: this model has nothing that it could change";
  }
  return "";
}

void note_vanished_sums(const Model& int8, const Work& work) {
  constexpr float kVanished = 0x1p11f;
  const auto scale = [&int8](int32_t tensor) {
    const TensorInfo info = tensor < 0 ? TensorInfo() : int8.tensor(tensor);
    const bool is_code = info.dtype == DType::kS8 && info.quantization.scales.size == 1;
    return is_code ? info.quantization.scales[0] : 0.0f;
  };
  for (int32_t n = 0; n < int8.node_count(); ++n) {
    const NodeInfo node = int8.node(n);
    float largest = node.options.value<Intermediate>().scale;  // of a sum in a convolution
    if (node.op == Op::kAdd || node.op == Op::kSub)
      largest = std::max(scale(node.inputs[0]), scale(node.inputs[1]));
    const float own = scale(node.outputs[0]);
    if (own > 0 && largest >= kVanished * own)
      work.note("node '" + std::string(node.name) +
                "': its inputs nearly cancel out, and int8 cannot represent what is left; " +
                option_word("keep-float") + " computes it in FP32");
  }
}

std::string OptionChanges::kept() const {
  std::string nodes;
  for (const int32_t n : float_nodes) nodes += (nodes.empty() ? "@" : ",@") + std::to_string(n);
  return nodes;
}

double judged_sqnr(const OutputQuality& quality) {
  return quality.worst ? quality.worst->sqnr : quality.sqnr;
}

double RemedyTrial::gain() const { return judged_sqnr(after) - judged_sqnr(before); }

Json json_of(const std::optional<RemedyTrial>& trial) {
  if (!trial) return nullptr;
  if (trial->changes.empty()) return {{"helps", false}, {"untried", trial->untried}};
  Json keep = Json::array();
  for (const int32_t n : trial->changes.float_nodes) keep.push_back("@" + std::to_string(n));
  Json json = {{"helps", trial->helps},
               {"sure", trial->sure},
               {"left_out", trial->changes.left_out},
               {"keep_float", keep},
               {"gain_db", json_number(trial->gain())},
               {"sqnr_db_before", json_number(judged_sqnr(trial->before))},
               {"sqnr_db_after", json_number(judged_sqnr(trial->after))},
               {"ms_int8", trial->int8_ms},
               {"ms", trial->ms},
               {"ms_fp32", trial->fp32_ms},
               {"bytes_before", trial->bytes_before},
               {"bytes", trial->bytes}};
  if (trial->before.agreement && trial->after.agreement) {
    json["agreement_before"] = *trial->before.agreement;
    json["agreement_after"] = *trial->after.agreement;
  }
  if (trial->before.detections && trial->after.detections) {
    json["f1_before"] = json_number(trial->before.detections->counts.f1());
    json["f1_after"] = json_number(trial->after.detections->counts.f1());
  }
  return json;
}

Json json_of(const CalibrationFigures& figures) {
  const auto share = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  const Verdict& verdict = figures.verdict;
  Json json = {{"verdict", verdict.grade == Grade::kNone ? Json(nullptr) : Json(grade_name(verdict.grade))},
               {"remedy", verdict.remedy.empty() ? Json(nullptr) : Json(verdict.remedy)},
               {"trial", json_of(figures.trial)},
               {"command", figures.command.empty() ? Json(nullptr) : Json(safe(figures.command))},
               {"images", figures.images},
               {"seconds", figures.seconds},
               {"sqnr_db", json_number(figures.held_out.sqnr)},
               {"agreement", share(figures.held_out.agreement)},
               {"judged", figures.judged},
               {"low_sqnr_db", figures.low_sqnr ? json_number(*figures.low_sqnr) : Json(nullptr)},
               {"calibration_sqnr_db", json_number(figures.calibrating.sqnr)},
               {"calibration_agreement", share(figures.calibrating.agreement)},
               {"errors", json_of(figures.held_out.errors)},
               {"worst", json_of(figures.held_out.worst)},
               {"sha256", figures.sha256}};
  if (const auto& detections = figures.held_out.detections) json["detections"] = json_of(*detections);
  if (figures.sequences)
    json["sequences"] = {{"count", figures.sequences->sequences},
                         {"steps", figures.sequences->steps},
                         {"sqnr_db", json_number(figures.sequences->sqnr)},
                         {"late_sqnr_db", json_number(figures.sequences->late_sqnr)}};
  return json;
}

namespace {

// "channels 4 to 83", "channels 0, 2 and 5", "80 of 84 channels"
std::string channels_text(const PartError& part) {
  constexpr size_t kListed = 4;
  const std::vector<int32_t>& list = part.channels;
  const auto number = [](int32_t c) { return std::to_string(c); };
  if (list.size() == 1) return "channel " + number(list[0]);
  if (static_cast<size_t>(list.back() - list[0]) == list.size() - 1)
    return "channels " + number(list[0]) + " to " + number(list.back());
  if (list.size() > kListed)
    return std::to_string(list.size()) + " of " + number(part.all_channels) + " channels";
  std::string text = "channels " + number(list[0]);
  for (size_t i = 1; i < list.size(); ++i) text += (i + 1 < list.size() ? ", " : " and ") + number(list[i]);
  return text;
}

}  // namespace

std::optional<WorstPart> worst_part(const std::vector<PartError>& parts) {
  const PartError* const worst = parts.size() < 2 ? nullptr : worst_of(parts);
  if (worst == nullptr) return std::nullopt;
  return WorstPart{"'" + worst->tensor + "'" + (worst->channels.empty() ? "" : ", " + channels_text(*worst)),
                   sqnr_db(worst->error.signal, worst->error.noise)};
}

Json json_of(const std::optional<WorstPart>& worst) {
  if (!worst) return nullptr;
  return {{"name", worst->name}, {"sqnr_db", json_number(worst->sqnr)}};
}

Error judge_held_out(HeldOut& held_out, CalibrationSamples& samples, const OutputsToJudge& outputs,
                     bool repeats, CalibrationFigures& figures) {
  const bool by_others = samples.held_out_count() >= HeldOut::kFewest;
  std::vector<int32_t> exact =
      by_others ? std::vector<int32_t>(samples.held_out_count()) : outputs.fp32_classes;
  const auto class_of = [&](const Session& session) {
    return chosen_class(session, *outputs.classes).value_or(-1);
  };
  SampleErrors errors;
  OutputErrors own(outputs.classes);
  std::optional<Detector> detector;
  if (outputs.detector != nullptr) detector.emplace(*outputs.detector, DetectionChoice(), 0);
  BoxesBeside boxes;
  size_t equal = 0;
  HeldOut::Ran ran;
  ran.runs_fp32 = outputs.errors || outputs.detector != nullptr;
  ran.by_channels = outputs.channels;
  ran.fp32 = [&](size_t i, const Session& fp32) {
    if (outputs.classes) exact[i] = class_of(fp32);
    if (outputs.errors) own.keep(fp32);
    if (detector && !detector->is_known() && !detector->recognize(fp32)) detector.reset();
    if (detector && !boxes.keep(*detector, fp32)) detector.reset();
  };
  ran.int8 = [&](size_t i, const Session& int8) {
    if (outputs.classes) equal += class_of(int8) == exact[i] ? 1 : 0;
    if (outputs.errors) own.add(int8);
    if (detector && !boxes.add(*detector, int8)) detector.reset();
  };
  const Error error = by_others ? held_out.judge_written(samples.held_out_source(), ran, errors)
                                : held_out.judge(samples.source(), repeats, ran, errors);
  if (!error.ok()) return error;
  const NetworkError expected = errors.expected();
  figures.held_out.sqnr = sqnr_db(expected.signal, expected.noise);
  figures.held_out.errors = own.errors();
  figures.held_out.worst = worst_part(errors.parts());
  if (!by_others && !held_out.is_possible()) return kNoError;
  figures.judged = errors.samples();
  if (const std::optional<double> most = errors.most_of_sets()) figures.low_sqnr = sqnr_db(1.0, *most);
  if (detector && detector->is_known()) figures.held_out.detections = boxes.result(*detector);
  if (outputs.classes)
    figures.held_out.agreement = static_cast<double>(equal) / static_cast<double>(figures.judged);
  return kNoError;
}

namespace {

// The remaining time as multiples of each stage's time. Least squares over nine networks with 4 to 32 samples:
// benchmarks/results/calibration_time.md.
struct Law {
  RecoveryMask recover;
  double observing, baking, replaying;
};
constexpr std::array<Law, 3> kLaws = {{
    {recovery::kNone, 0.5, 5.6, 0.0},
    {recovery::kBiasCorrection, 1.1, 6.7, 0.0},
    {recovery::kDefault, 1.7, 6.2, 3.4},
}};
constexpr double kLayers = 2.2;  // times the time of observing

std::optional<double> seconds_in_all(const Law& law, bool layers, const std::vector<StageTime>& stages) {
  double seconds = 0;
  for (const StageTime& stage : stages) {
    seconds += stage.seconds;
    if (stage.name == "calibrating") seconds += stage.seconds * (law.observing + (layers ? kLayers : 0));
    if (stage.name == "bake") seconds += stage.seconds * law.baking;
    if (stage.name == "first replay") return seconds + stage.seconds * law.replaying;
  }
  return std::nullopt;
}

}  // namespace

TimeEstimate estimate_of(RecoveryMask recover, bool layers) {
  for (const Law& law : kLaws)
    if (law.recover == recover)
      return [&law, layers](const std::vector<StageTime>& stages) {
        return seconds_in_all(law, layers, stages);
      };
  return nullptr;
}

}  // namespace intaglio::tools
