// What a calibration says of itself when it is done.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/sequences.h"
#include "cli/verdict.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

// An SQNR in dB, before a final softmax, and the share of samples with the FP32 model's class where there are
// classes.
struct OutputQuality {
  double sqnr = 0;
  std::optional<double> agreement;
};

// What is reported beside the file itself.
struct CalibrationFigures {
  size_t images = 0;
  double seconds = 0;              // of all that was done
  double calibrating_seconds = 0;  // without what was tried for the page
  // Of samples that did not calibrate the model that they judge. With too few for that (`judged` 0) of a model
  // without recoveries, which fit no sample, and without agreement.
  OutputQuality held_out;
  size_t judged = 0;
  OutputQuality calibrating;  // of the model that is written, on the samples that calibrated it
  std::optional<SequenceFigures> sequences;  // of a model with states
  Verdict verdict;
  std::string command;  // what the verdict's remedy says, to be pasted; empty where no command does it
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

// Names each sum whose result is far smaller than its operands' codes (calibrator/quantization/sum_scales.h).
void note_vanished_sums(const Model& int8);

// {images, seconds, sqnr_db, agreement, ...}: see `calibrate --json`.
Json json_of(const CalibrationFigures& figures);
void print_figures(const CalibrationFigures& figures, const std::string& output,
                   const CalibrationReport& report);

}  // namespace intaglio::cli
