// A scale a channel for what depthwise layers read. Each of their outputs has a weight and a multiplier of its own, and so has
// what writes their input: a factor a channel moves into both and costs nothing while the model runs.
//
//   s[c] = min(1, max(b[c], sqrt(a[c] / w[c])))   a: largest |x| of the channel over n samples, over that of all, and
//                                                    2^(1 / sqrt(n + 1)) times that, since other samples reach farther
//                                                 w: a[c]^(-1/2) where depthwise layers alone read the channel, else the largest
//                                                    weight that reads it, over the largest of the same output
//                                                 b: largest share of a clamp that the channel reaches, with the same room
//
// A function of one variable that is not homogeneous (SiLU, hard-swish, GELU) keeps what it computes: its int8 table takes in
// both factors. Channels are put into groups, with a table each (FunctionGroups). There s = min(1, a^(7/8)): the largest of a
// group is surer than one channel's. What the function reads counts as far as the function tells it apart.
//
// All of a channel's range, w = a^(-1), would leave the least rounding. A channel's largest value is less sure than a tensor's,
// so quiet channels keep the more room the quieter they are: MobileNetV2 19.3 and 18.6 to 21.3 and 21.2 dB.
//
// Tensors whose factors change have their values observed once more. Of all others only the last bits of FP32 may differ, so that
// what was seen of them stays. The probes (ranges/probes.h) of the first 8 samples, by their digests, run once more.
#pragma once

#include "calibrator/recover/channel_scaling.h"

namespace intaglio {

// Channels before and behind functions of one variable in a few groups: an int8 model needs a table for each.
//
// Sets of channels that functions join share their groups. A factor becomes the largest of its group, so that no value leaves
// its range. Channels stand in the order of the product of their factors. The groups are those cuts of that order whose
//
//   sum over groups, sets   w s^2     s: the group's factor in the set
//                                     w: its number of channels; or the sum over them of the squares of the weights that read them,
//                                        as shares of a layer's, where such cuts leave a quarter of that noise at most
//
// is least, which is the noise of rounding. Fewer groups are taken where they leave a tenth more at most.
class FunctionGroups {
 public:
  FunctionGroups() = default;
  FunctionGroups(const Model& fp32, const CalibratorOptions& options, Arena& arena);
  static uint64_t bytes(const Model& fp32);

  // Whether each node takes_factors().
  Span<const bool> nodes() const { return is_function_; }
  // Calls visit(n, node) for each of these.
  template <typename Visit>
  void for_each(const Model& model, Visit&& visit) const {
    for (int32_t n = 0; n < model.node_count(); ++n)
      if (is_function_[static_cast<size_t>(n)]) visit(n, model.node(n));
  }

  // Brings the factors of sets around functions into groups.
  void apply(const Model& fp32, const ChannelScaling& scaling) const;
  // The factors of what each node reads and writes.
  Span<const FunctionFactors> factors_of(const Model& fp32, const ChannelScaling& scaling) const;

 private:
  Span<bool> is_function_;         // of each node
  Span<FunctionFactors> factors_;  // of each node
  Arena scratch_;
};

class DepthwiseScales {
 public:
  DepthwiseScales() = default;
  DepthwiseScales(const FloatModel& fp32, const CalibrationState& seen, const CalibratorOptions& options,
                  Arena& arena);
  static uint64_t bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options);
  // Whether a depthwise layer is there, and the options leave scales free.
  static bool may_apply(const Model& fp32, const CalibratorOptions& options);

  // The network's error decides whether the scales stay.
  Result<Candidate> run(RecoveryContext& context, const Candidate& now);
  // The scales of an earlier calibration, and what it saw with them: some of its samples are not among these.
  Result<Candidate> run_as(RecoveryContext& context, const KeptScales& before, const Candidate& now);

 private:
  void find_ends(RecoveryContext& context, const Network& from);
  bool choose_factors(const Model& model, uint32_t samples);
  bool is_at_function(const Model& model, int32_t root) const;
  Error scale(RecoveryContext& context, const Network& from);
  Error observe(RecoveryContext& context);
  static Error judge(RecoveryContext& context, const Candidate& candidate, NetworkError& error);

  ModelRewrite rewrite_;
  ChannelScaling scaling_;
  Span<int32_t> observer_of_;  // of each tensor: its observer, where it has factors; else -1
  Span<size_t> no_means_;      // of each node: 0
  Span<InputValues> inputs_;
  Span<Range> ends_;  // of each tensor: how far its values count
  FunctionGroups functions_;
};

}  // namespace intaglio
