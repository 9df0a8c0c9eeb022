// Calibrates a model with states: the model of one step.
#pragma once

#include <optional>

#include "tools/sequences.h"
#include "tools/slot_choices.h"

namespace intaglio::tools {

class CalibratedSteps {
 public:
  // The model as it was given, which outlives this. One without states is calibrated as it is.
  static Outcome<CalibratedSteps> of(const LoadedModel& given);

  bool has_states() const { return step_.has_value(); }
  const LoadedModel& given() const { return *given_; }
  const LoadedModel& model() const { return step_ ? *step_ : *given_; }  // that is calibrated
  // Runs the sequences in FP32, and gives the samples the states that each step begins with.
  Outcome<Done> read_sequences(int64_t steps, const SampleChoice& choice, const SessionOptions& options,
                               Samples& samples, const Work& work);
  const Sequences& sequences() const { return sequences_; }
  // The states, and which of them stay in FP32: a note says so. With `int8` none does.
  void set(bool int8, QuantizationLists& lists, CalibratorOptions& options, const Work& work) const;

 private:
  const LoadedModel* given_ = nullptr;
  std::optional<LoadedModel> step_;
  Sequences sequences_;
};

}  // namespace intaglio::tools
