// The verdict on the int8 model by a calibration's figures, in a word, and the remedy to try first.
#pragma once

#include <optional>
#include <string>

#include "calibrator/judge/evaluate.h"

namespace intaglio::tools {

// With fewer samples, more of them are what to try first.
inline constexpr size_t kEnoughSamples = 16;

enum class Grade { kNone, kGood, kFair, kPoor };

// The subject of the remedy.
enum class Remedy { kNone, kPreprocessing, kMoreSamples, kLabels, kWiderLayers };

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
  size_t samples = 0;               // that calibrated
  std::string preprocessing_sign;   // what speaks for a wrong one, as a clause; empty: nothing
  bool of_pictures = true;          // the model knows their preprocessing
  bool at_hand = true;              // false: samples calibrated elsewhere, and none is here
};

// Good: 20 dB with 97 % agreement, or 15 dB with 99 %. Poor: less than 8 dB, or agreement surely below 90 %, given
// how many samples judge.
Verdict judge(const Judgeable& figures);

const char* grade_name(Grade grade);  // "good", ...; "" for none

}  // namespace intaglio::tools
