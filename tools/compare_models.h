// How far a model is from the FP32 model that it was made from, on the same samples.
#pragma once

#include "tools/class_scores.h"
#include "tools/json.h"
#include "tools/layer_comparison.h"
#include "tools/sequences.h"

namespace intaglio::tools {

struct CompareChoice {
  SampleChoice samples;
  int64_t steps = 0;  // as CalibrateChoice::steps
  SessionOptions execution;
  LabelChoice labels;  // may be empty
  bool alone = true;   // each layer with exact inputs, too, at twice the time
};

// Right answers of two models on the same pictures.
struct PairedResult {
  size_t reference_right = 0, test_right = 0, lost = 0, won = 0;

  bool loss_is_real() const {
    const auto b = static_cast<double>(lost), c = static_cast<double>(won);
    return b - c > 2 * std::sqrt(b + c);
  }
};

struct ComparedModels {
  size_t count = 0;                          // samples
  Comparison layers;                         // empty of models with states
  std::optional<PairedResult> paired;        // with labels
  std::optional<SequenceFigures> sequences;  // of models with states
};

// Refuses a reference that is not FP32.
Outcome<Done> check_comparable(const LoadedModel& reference, const LoadedModel& test);
Outcome<ComparedModels> compare(const LoadedModel& reference, const LoadedModel& test,
                                const CompareChoice& choice, Work& work);

// {count, agreement, cosine, ...}: see `compare --json`.
Json json_of(const ComparedModels& compared, const Model& reference, const Model& test);

double percent_of(size_t part, size_t whole);

}  // namespace intaglio::tools
