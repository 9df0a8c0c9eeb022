// The error of the whole int8 model: its outputs beside those of the FP32 model, over samples.
#pragma once

#include <limits>

#include "calibrator/bake/int8_model.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/judge/order_free_sum.h"
#include "calibrator/judge/replay.h"

namespace intaglio {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// A question about the int8 model as it stands: which samples answer, and how far.
struct Question {
  const char* stage = "";     // for the caller's progress
  Part part = Part::kJudges;  // the samples that answer
  // For a model with one output: the answer ends as soon as the noise is more than this, and is infinite then.
  double most = kNoLimit;
};

// Every step of a calibration gets its figures here. A model and a question come in, exact sums over samples go out: they
// do not depend on the order of the samples, and sums over parts of them could be added up.
class Judge {
 public:
  // `exact_values`: room for the FP32 values of all `outputs` of a sample on each lane. `arena` keeps a few words for each
  // output. All that is referred to outlives the judge.
  Judge(FloatModel& fp32, Span<const OutputTensor> outputs, Span<float> exact_values,
        const Progress& progress, Int8Model& int8, Replay& samples, Arena& arena);

  // What it takes of the arena.
  static uint64_t bytes(const Model& fp32, const CalibratorOptions& options);

  Error ask(const Question& question, NetworkError& answer);
  // The error of the model as it is now over all samples, given that over those that judge. Asks what is missing for it, and
  // for the source to have the results.
  Error complete(const NetworkError& judged, NetworkError& whole);

 private:
  struct Sums {                  // of one output
    OrderFreeSum signal, noise;  // of samples that judge
    OrderFreeSum other_signal, other_noise;
  };

  Error run(const Question& question, bool tells);
  Error add(Span<const int32_t> which, const bool* judges, bool to_the_end);
  void run_lane(int32_t i, int32_t lane, const Executor& executor, bool to_the_end);
  NetworkError total() const;
  NetworkError judged() const;

  FloatModel& fp32_;
  Span<const OutputTensor> exact_outputs_;
  Span<float> exact_values_;  // of all of them, of one sample a lane
  const Progress& progress_;
  Int8Model& int8_;
  Replay& samples_;
  Span<OutputPair> outputs_;
  Span<Sums> sums_;             // of each
  Span<NetworkError> figures_;  // of the sample on each lane, of each output
  NetworkError whole_;          // over all samples, of the int8 model at `whole_revision_`
  int64_t whole_revision_ = -1;
  // Revision of the int8 model whose results the source has been told last: for all samples, for those that judge.
  int64_t told_revision_ = -1, judges_told_revision_ = -1;
};

}  // namespace intaglio
