// The method of choosing ranges whose int8 model comes nearest to FP32. What a few values far from all others
// are worth only the network's outputs tell: where they cost a tensor most of its codes, a method that clips
// them can gain 10 dB that the error of each tensor alone does not show.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

// Ranges are judged by the outputs for samples that they do not come from: those of one half of the samples
// with the ranges of the other half, both ways, biases corrected for the rounding of weights where the options ask for
// bias correction. On the samples that gave the ranges the narrowest one looks best, and
// loses up to 10 dB on others.
bool can_judge(const CalibrationState& seen);  // both halves have samples

// The error of a candidate's ranges. What stands in context.int8 afterwards is of no use: context.build() mends it.
Error judge_ranges(RecoveryContext& context, const Candidate& candidate, NetworkError& error);

struct FoundMethod {
  Candidate
      best;  // of the network that was given; its error is the least of all, others are given up where they come to more
  NetworkError of_auto;
};
// The best method of all. context.int8 is as above.
Error find_method(RecoveryContext& context, const Network& network, FoundMethod& found);

// The same for a network that is another one for each half. Every method where the caller leaves it to the calibration, else
// the candidate's.
class MethodErrors {
 public:
  // Those of the half's ranges, for the samples of the other half.
  Error add_half(RecoveryContext& context, const Candidate& candidate, int32_t half);
  RangeMethod best() const;
  const NetworkError& of(RangeMethod method) const { return errors_[static_cast<size_t>(method)]; }

 private:
  NetworkError errors_[kRangeMethodCount];
};

// Where the caller asked for RangeMethod::kAuto: the best method takes its place.
Result<Candidate> choose_method(RecoveryContext& context, const Candidate& now);

}  // namespace intaglio
