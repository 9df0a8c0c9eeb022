// The scaling of channels: which factor each channel of an FP32 model gets, and the model that has them.
//
// Channel c of a tensor is divided by s[c]: the weights that make it are divided by s[c], and those that read it are
// multiplied by s[c] (channels/channels.h). So channels share the range of their tensor better. A normalization's factors and
// summands are scaled like weights.
#pragma once

#include "calibrator/recover/channels/channels.h"
#include "calibrator/recover/model_rewrite.h"

namespace intaglio {

struct ChannelScaling {
  ChannelGroups groups;
  Span<float> peaks;  // of each channel of each set: largest |x| over the samples
  Span<double>
      readers;  // of each: largest weight that reads it, over the largest of the same output; 0: nothing but
                // depthwise layers reads it, each of whose outputs has a scale of its own
  Span<float> factors;  // of each: s

  ChannelScaling() = default;
  ChannelScaling(const ChannelGroups& sets, Arena& arena);
  // Room of the lists above, for channel_group_bytes() more.
  static uint64_t bytes(const Model& fp32);

  // Runs every sample through the FP32 model. Leaves in `factors` the least ones with which no value of the samples reaches a
  // clamp before it did: where a node clamps at [lo, hi], x / s must not leave that. `ends`: of each tensor, how far its values
  // count; empty: all of them.
  Error find_peaks(RecoveryContext& context, Span<const Range> ends = {});
  void find_readers(const Model& model);
  // Multiplies and divides the constants of `model`, which may be written.
  void scale(const Model& model) const;
  // For the channels of a free tensor.
  const float* factors_of(int32_t tensor) const {
    return groups.is_free(tensor) ? factors.data + groups.first_of(tensor) : nullptr;
  }
  // The same; nullptr where all are 1.
  const float* changing_factors_of(const Model& model, int32_t tensor) const;

 private:
  Error walk(RecoveryContext& context, Span<const Range> ends);
  void scale_summands(const Model& model) const;
};

}  // namespace intaglio
