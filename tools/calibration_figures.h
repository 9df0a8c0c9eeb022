// A calibration's judgement of its int8 model: the verdict in a word, the remedy to try first, and the figures that both rest on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/accuracy/held_out.h"
#include "calibrator/judge/evaluate.h"
#include "intaglio/calibrator.h"
#include "tools/answer_kind.h"
#include "tools/calibration_samples.h"
#include "tools/detections.h"
#include "tools/json.h"
#include "tools/layer_comparison.h"
#include "tools/sequences.h"
#include "tools/work.h"

namespace intaglio::tools {

// So much better on the samples that calibrated than on others, in dB: these samples are too few.
inline constexpr double kWideGap = 5;

enum class Grade { kNone, kGood, kFair, kPoor };

// The subject of the remedy.
enum class Remedy { kNone, kPreprocessing, kMoreSamples, kLabels, kWiderLayers, kTried };

struct Verdict {
  Grade grade = Grade::kNone;
  std::string text;    // a sentence or two
  std::string remedy;  // what to try first; empty for a good model
  Remedy kind = Remedy::kNone;
  bool by_agreement = false;  // the SQNR is that of a good model: more dB may not help
};

// The figures that the verdict rests on, by samples that were held out.
struct Judgeable {
  double sqnr = 0.0;                // dB; infinite: exact
  std::optional<double> agreement;  // share of the samples with the FP32 model's class
  size_t judged = 0;                // samples; 0: none could be held out
  double gap = 0.0;                 // dB more on the samples that calibrated
  std::string preprocessing_sign;   // what speaks for a wrong one, as a clause; empty: nothing
  bool of_pictures = true;          // the model knows their preprocessing
  bool at_hand = true;              // false: samples calibrated elsewhere, and none is here
};

// Good: 20 dB with 97 % agreement, or 15 dB with 99 %. Poor: less than 8 dB, or agreement surely below 90 %, given
// how many samples judge.
Verdict judge(const Judgeable& figures);

const char* grade_name(Grade grade);  // "good", ...; "" for none

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
  std::vector<OutputError> errors;                // of the outputs that are none
  std::optional<WorstPart> worst;                 // of several parts
  std::optional<DetectionComparison> detections;  // of detectors on pictures
};

// In dB: of the worst part where there are several, else of all.
double judged_sqnr(const OutputQuality& quality);

// What is to be different in a calibration's options.
struct OptionChanges {
  std::vector<std::string> left_out;  // options, "int8-answers"
  std::vector<int32_t> float_nodes;   // of the FP32 model, ascending, besides those that are in FP32 anyway

  bool empty() const { return left_out.empty() && float_nodes.empty(); }
  std::string kept() const;  // "@3,@7"; empty: none
};

// A second calibration, with these changes, beside the one whose model is written.
struct RemedyTrial {
  OptionChanges changes;                    // none: nothing was tried
  std::string untried;                      // then why, as a clause
  size_t layers = 0;                        // that get more bits, of which
  double share = 0;                         // 0..1 of the outputs' error comes, as measured layer by layer
  OutputQuality before, after;              // by the same samples, which were held out
  double int8_ms = 0, ms = 0, fp32_ms = 0;  // a run on this machine, the fastest of a few
  size_t bytes_before = 0, bytes = 0;

  double gain() const;  // dB, of the worst part of the outputs
  bool helps = false;
  bool sure = true;  // false: the samples are too few to say how much it gains
};
Json json_of(const std::optional<RemedyTrial>& trial);

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
  std::optional<RemedyTrial> trial;  // of a remedy, where the verdict is not good and one can be tried
  std::string command;  // what the verdict's remedy says, to be pasted; empty where no command does it
  size_t bytes = 0;     // of the model, without a streamed plan
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

// Names each sum whose result is far smaller than its operands' codes (widen_sums() in calibrator/ranges/slot_params.cc).
void note_vanished_sums(const Model& int8, const Work& work);

// {images, seconds, sqnr_db, agreement, ...}: see `calibrate --json`.
Json json_of(const CalibrationFigures& figures);

// The figures of `calibrate` for samples that it has not seen.

// Further looks at the outputs, beside the SQNR.
struct OutputsToJudge {
  std::optional<ClassOutput> classes;
  const std::vector<int32_t>& fp32_classes;  // of the samples that calibrated, where there are classes
  bool channels = false;                     // of unlike size are parts of their own
  bool errors = false;                       // of those that are no classes, in their own unit
  const Model* detector = nullptr;           // where the FP32 model may be one
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
