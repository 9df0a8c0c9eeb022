// The figures of a calibration: held out, estimated beforehand, printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/accuracy/held_out.h"
#include "intaglio/calibrator.h"
#include "tools/answer_kind.h"
#include "tools/calibration_samples.h"
#include "tools/json.h"
#include "tools/output_errors.h"
#include "tools/sequences.h"
#include "tools/verdict.h"
#include "tools/work.h"

namespace intaglio::tools {

// The figures of a finished calibration.

// The part of the outputs that loses most: a tensor, or channels of one whose values are of another size than the others'.
struct WorstPart {
  std::string name;  // "'boxes'", "'y', channels 4 to 83"
  double sqnr = 0;
};
// Nothing where there are fewer than two parts.
std::optional<WorstPart> worst_part(const std::vector<PartError>& parts);
Json json_of(const std::optional<WorstPart>& worst);

// An SQNR in dB, before a final softmax, and the share of samples with the FP32 model's class where there are
// classes.
struct OutputQuality {
  double sqnr = 0;
  std::optional<double> agreement;
  std::vector<OutputError> errors;  // of the outputs that are none
  std::optional<WorstPart> worst;   // of several parts
};

// The figures that are reported beside the file itself.
struct CalibrationFigures {
  size_t images = 0;
  double seconds = 0;              // of all that was done
  double calibrating_seconds = 0;  // without what was tried for the page
  // By samples that did not calibrate the model that they judge. With too few for that (`judged` 0) of a model
  // without recoveries, which fit no sample, and without agreement.
  OutputQuality held_out;
  size_t judged = 0;
  std::optional<double> low_sqnr;  // dB that nine of ten sets of 16 other samples reach; none with few judges
  OutputQuality calibrating;       // of the model that is written, on the samples that calibrated it
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

// A recovery's name on the command line; "" where there is none of this bit.
const char* recovery_title(RecoveryMask bit);
// "kept", or why not.
const char* verdict_text(RecoveryVerdict verdict);

// Names each sum whose result is far smaller than its operands' codes (calibrator/quantization/sum_scales.h).
void note_vanished_sums(const Model& int8, const Work& work);

// {images, seconds, sqnr_db, agreement, ...}: see `calibrate --json`.
Json json_of(const CalibrationFigures& figures);

// The figures of `calibrate` for samples that it has not seen.

// What is looked at in the outputs beside the SQNR.
struct OutputsToJudge {
  std::optional<ClassOutput> classes;
  const std::vector<int32_t>& fp32_classes;  // of the samples that calibrated, where there are classes
  bool channels = false;                     // of unlike size are parts of their own
  bool errors = false;                       // of those that are no classes, in their own unit
};

// After finish(): figures.held_out and figures.judged. Samples that --min-sqnr or --max-drop held out judge the model
// that was written; else those that calibrated it judge models of each other. `repeats`: finish() had the samples again.
Error judge_held_out(HeldOut& held_out, CalibrationSamples& samples, const OutputsToJudge& outputs,
                     bool repeats, CalibrationFigures& figures);

// How long a calibration takes, told from its first stages.

// Held-out figures are in it; samples that a state adds, a search for layers and the report's advice are not. It knows once
// the samples were observed, baked and replayed for the first time, and only for recoveries whose cost these stages tell:
// none, bias, default. `layers`: each layer is judged as well.
TimeEstimate estimate_of(RecoveryMask recover, bool layers);

}  // namespace intaglio::tools
