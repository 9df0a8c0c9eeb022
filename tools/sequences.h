// Samples as the steps of sequences, for models with states, and what calibrates of such a model: one step.
#pragma once

#include <optional>

#include "tools/samples.h"
#include "tools/slot_choices.h"

namespace intaglio::tools {

// Each so many samples, in their order, are one sequence. A model's states begin anew with it.
class Sequences {
 public:
  // `steps` as the option has it; 0: all samples are one sequence. Refused where the samples do not make whole
  // sequences; noted where the model has no states. A model with states takes all samples of a source.
  static Outcome<Sequences> of(int64_t steps, const SampleChoice& choice, const Samples& samples,
                               const LoadedModel& file, const Work& work);

  size_t steps() const { return steps_; }
  size_t count() const { return count_; }
  bool begins(size_t sample) const { return sample % steps_ == 0; }
  bool ends(size_t sample) const { return sample % steps_ == steps_ - 1; }
  // The sequence that a sample belongs to.
  size_t number(size_t sample) const { return sample / steps_; }
  // Whether it is one of the last quarter of a sequence's steps.
  bool is_late(size_t sample) const { return 4 * (sample % steps_) >= 3 * steps_; }

 private:
  size_t steps_ = 1, count_ = 1;
};

// Runs the samples through `file`, in FP32, and puts the states that each begins with behind the values of its inputs. From
// then on they fill the inputs of the step model.
Outcome<Done> record_states(const LoadedModel& file, const SessionOptions& options,
                            const Sequences& sequences, Samples& samples);

// Figures of a model with states on sequences, each model with its own states from the beginning on.
struct SequenceFigures {
  size_t sequences = 0, steps = 0;
  double sqnr = 0,
         late_sqnr = 0;  // in dB, of all outputs: over every step, and over the last quarter of them
};
Outcome<SequenceFigures> compare_sequences(const LoadedModel& fp32, const Model& test, const Samples& samples,
                                           const Sequences& sequences, const SessionOptions& options,
                                           Work& work);

// A model with states as it is calibrated: the model of one step.
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
