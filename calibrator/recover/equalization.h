// Cross-layer equalization: channels of an activation are scaled by powers of two so that they share its
// range better, and the weights around it are scaled against that (channels.h). FP32 numbers change
// their exponents alone, so the FP32 model computes the same, bit for bit, and int8 loses less where one
// channel is far larger than the others. A normalization's factors and summands are scaled like weights.
//
//   s[c] = 2^rint(log2 sqrt(a[c] / w[c]))   a: largest |x| of the channel over the samples, over that of all
//                                           w: largest weight that reads it, over the largest of the same
//                                           output
//
// The first attempt keeps a factor of 2 free for what the samples have not shown, the second does not.
// w is 1 where only depthwise layers read the channel: each of their outputs has a scale of its own.
#pragma once

#include "calibrator/recover/channel_scaling.h"

namespace intaglio {

class Equalizer {
 public:
  Equalizer() = default;
  // Takes what it needs from `arena` where the options ask for equalization.
  Equalizer(const FloatModel& fp32, const CalibrationState& seen, const CalibratorOptions& options,
            Arena& arena);
  static uint64_t bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options);

  // Scales the model, observes the samples once more, chooses parameters anew. The network's error decides
  // whether that stays.
  Result<Candidate> run(RecoveryContext& context, const Candidate& now);

 private:
  void choose_factors(const Model& model, bool with_room);
  Error judge(RecoveryContext& context, const Candidate& candidate, NetworkError& error);

  ModelRewrite rewrite_;
  ChannelScaling scaling_;
};

// Whether a normalization of the network has factors: outliers among them cost 8 bits most, and scaling takes them away.
bool has_factors(const Model& fp32);

}  // namespace intaglio
