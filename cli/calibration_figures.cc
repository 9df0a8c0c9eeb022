#include "cli/calibration_figures.h"

#include "calibrator/digest.h"
#include "calibrator/recover/recovery.h"
#include "cli/layer_comparison.h"
#include "cli/output.h"

namespace intaglio::cli {

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
      // Of a block what stands in the end; of the whole model the attempt that was kept, else the last one.
      if (kept || (!summary.in_blocks && summary.kept == 0))
        summary.after = record.after;
      else if (summary.in_blocks)
        summary.after = record.before;
      if (record.verdict == RecoveryVerdict::kTooFewSamples)
        summary.outcome = "not tried with fewer than " + std::to_string(rule.least_samples) + " samples";
      if (record.verdict == RecoveryVerdict::kNoSource)
        summary.outcome = "not tried, since the samples cannot be read again";
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
    case RecoveryVerdict::kNoSource:
      return "not tried: the samples cannot be read again";
    case RecoveryVerdict::kNothingToDo:
      return "not tried: this model has nothing that it could change";
  }
  return "";
}

void print_figures(const CalibrationFigures& figures, const std::string& output,
                   const CalibrationReport& report) {
  print("\n  samples      %zu in %s s", figures.images, decimal(figures.seconds, 2).c_str());
  if (static_cast<size_t>(report.samples) != figures.images)
    print(", %d with those of the state", report.samples);
  print("\n  output SQNR  %s dB%s\n", decimal(figures.sqnr, 2).c_str(), " before a final softmax");
  if (figures.agreement) print("  agreement    %.4f with FP32 on these samples\n", *figures.agreement);
  for (const RecoverySummary& summary : summarize(report.recoveries, figures.method)) {
    print("  %s: ", summary.title.c_str());
    if (summary.tried)
      print("%s dB before, %s dB after; ", decimal(sqnr_db(1.0, summary.before), 2).c_str(),
            decimal(sqnr_db(1.0, summary.after), 2).c_str());
    print("%s\n", summary.outcome.c_str());
  }
  print("  file         %s, %s bytes\n", safe(output).c_str(), grouped(report.bytes.size).c_str());
  print("  SHA-256      %s\n", figures.sha256.c_str());
}

}  // namespace intaglio::cli
