// What a calibration says of itself when it is done.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intaglio/calibrator.h"

namespace intaglio::cli {

// What is reported beside the file itself.
struct CalibrationFigures {
  size_t images = 0;
  double seconds = 0, sqnr = 0;
  std::optional<double> agreement;
  std::string sha256;
  std::string method;  // of the ranges, as the file has it
};

std::string sha256_text(Span<const uint8_t> bytes);

// All attempts of one recovery.
struct RecoverySummary {
  std::string title, outcome;
  size_t attempts = 0, kept = 0;
  bool tried = false, in_blocks = false;
  double before = 0, after = 0;  // noise over signal
};
// Those that were asked for, in their order. `method`: of the ranges in the end, by its name in the file.
std::vector<RecoverySummary> summarize(Span<const RecoveryRecord> records, const std::string& method);

// Of a recovery on the command line; "" where there is none of this bit.
const char* recovery_title(RecoveryMask bit);
// "kept", or why not.
const char* verdict_text(RecoveryVerdict verdict);

void print_figures(const CalibrationFigures& figures, const std::string& output,
                   const CalibrationReport& report);

}  // namespace intaglio::cli
