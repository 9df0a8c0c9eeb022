// High-bias absorption (Nagel et al., Data-Free Quantization, 4.1.2): what a channel of an activation never
// goes below is taken out of it, and what reads it adds it to its own bias. Its codes then hold what varies.
//
//   b[c] -= s[c],   b'[o] += sum over taps and c of w'[o, c] s[c]        (channels.h)
//
//   behind ReLU     s[c] = max(0, min x[c]), exact for the samples; 0 where a finite cap was reached
//   no activation   s[c] = (min x[c] + max x[c]) / 2, exact for every input: any number would be
//
// x: the values that the samples show.
#pragma once

#include "calibrator/recover/channels/channels.h"
#include "calibrator/recover/model_rewrite.h"

namespace intaglio {

class BiasAbsorber {
 public:
  BiasAbsorber() = default;
  // Takes what it needs from `arena` where the options ask for absorption.
  BiasAbsorber(const FloatModel& fp32, const CalibrationState& seen, const CalibratorOptions& options,
               Arena& arena);
  static uint64_t bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options);

  // Judged by each half of the samples with the shifts and ranges of the other half.
  Result<Candidate> run(RecoveryContext& context, const Candidate& now);

 private:
  Error find_extremes(RecoveryContext& context);
  bool choose_shifts(const Model& model, int32_t half);
  void move_biases(const Network& from);
  Error shift_by(RecoveryContext& context, const Network& from, int32_t half);

  ModelRewrite rewrite_;
  ChannelShifts tensors_;
  Span<float> lowest_[2], highest_[2];  // of each channel of the sources, in each half of the samples
  Span<float> shifts_;                  // of each channel
};

}  // namespace intaglio
