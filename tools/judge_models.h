// How good a model is on samples: how far from the FP32 model that it was made from, and how often right.
#pragma once

#include "tools/class_scores.h"
#include "tools/detections.h"
#include "tools/json.h"
#include "tools/layer_comparison.h"
#include "tools/sequences.h"

namespace intaglio::tools {

struct CompareChoice {
  SampleChoice samples;
  int64_t steps = 0;  // as CalibrateChoice::steps
  SessionOptions execution;
  LabelChoice labels;  // of classes, or of boxes; may be empty
  bool alone = true;   // each layer with exact inputs, too, at twice the time
  DetectionChoice detections;
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
  size_t count = 0;                               // samples
  Comparison layers;                              // empty of models with states
  std::optional<PairedResult> paired;             // with labels
  std::optional<SequenceFigures> sequences;       // of models with states
  std::optional<DetectionComparison> detections;  // of detectors on pictures
};

// Refuses a reference that is not FP32.
Outcome<Done> check_comparable(const LoadedModel& reference, const LoadedModel& test);
Outcome<ComparedModels> compare(const LoadedModel& reference, const LoadedModel& test,
                                const CompareChoice& choice, Work& work);

// {count, agreement, cosine, ...}: see `compare --json`.
Json json_of(const ComparedModels& compared, const Model& reference, const Model& test);

double percent_of(size_t part, size_t whole);

struct EvaluateChoice {
  SampleChoice samples;
  int64_t steps = 0;  // as CalibrateChoice::steps; the last step of each sequence is judged
  SessionOptions execution;
  OpList ops = all_ops();
  LabelChoice labels;  // of classes, or of boxes
  DetectionChoice detections;
};

// What a detector finds beside what is labelled.
struct DetectionEvaluation {
  std::string decoder;
  double score = 0;  // least
  DetectionFigures figures;
};

struct Evaluation {
  size_t count = 0, right = 0,
         within = 0;  // samples or sequences; those whose five best classes hold the right one
  std::optional<DetectionEvaluation> detections;  // instead, where boxes are labelled

  double top1() const { return 100 * static_cast<double>(right) / static_cast<double>(count); }  // percent
  double top5() const { return 100 * static_cast<double>(within) / static_cast<double>(count); }
};

Outcome<Evaluation> evaluate(const LoadedModel& file, const EvaluateChoice& choice, Work& work);

// {count, top1, top5}, or {count, decoder, score, right, wrong, missed, precision, recall, f1, map50}
Json json_of(const Evaluation& found);

}  // namespace intaglio::tools
