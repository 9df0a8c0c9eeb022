// How often a model is right.
#pragma once

#include "tools/class_scores.h"
#include "tools/json.h"
#include "tools/sequences.h"

namespace intaglio::tools {

struct EvaluateChoice {
  SampleChoice samples;
  int64_t steps = 0;  // as CalibrateChoice::steps; the last step of each sequence is judged
  SessionOptions execution;
  OpList ops = all_ops();
  LabelChoice labels;
};

struct Evaluation {
  size_t count = 0, right = 0,
         within = 0;  // samples or sequences; those whose five best classes hold the right one

  double top1() const { return 100 * static_cast<double>(right) / static_cast<double>(count); }  // percent
  double top5() const { return 100 * static_cast<double>(within) / static_cast<double>(count); }
};

Outcome<Evaluation> evaluate(const LoadedModel& file, const EvaluateChoice& choice, Work& work);

// {count, top1, top5}
Json json_of(const Evaluation& found);

}  // namespace intaglio::tools
