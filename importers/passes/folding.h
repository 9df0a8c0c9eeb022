// Parts that the passes on weights share.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// A convolution or fully connected node in FP32 with constant weights and bias.
bool has_float_weights(const Draft& draft, const DraftNode& node);
int32_t output_channels(const Draft& draft, const DraftNode& node);
// Elements of the weights that belong to output channel c, as a first index, a step and a count.
struct ChannelWeights {
  size_t first, step, count;
};
ChannelWeights channel_weights(const Draft& draft, const DraftNode& node, int32_t channel);
bool has_clamp(const DraftNode& node);
// clamp(clamp(x, inner), outer) is one clamp: to the inner bounds, each brought into the outer ones.
void join_clamps(Clamp& inner, const Clamp& outer);
// Whether the constant holds one real for each of the channels, which are the last axis, or one for all.
bool is_per_channel(const DraftTensor& constant, int32_t channels);

// New constants for the weights and the bias of a node with float weights, since the old ones may be shared: the
// weights of output channel c times factors[c], in double and rounded once, and this bias. A grid that the weights lie
// on is stretched with them.
void set_channels(Draft& draft, DraftNode& node, const std::vector<double>& factors,
                  const std::vector<float>& bias);

// The node writes `tensor` from now on, in place of its own output: a node between them has been folded.
void take_over_output(Draft& draft, DraftNode& node, int32_t tensor);

}  // namespace intaglio::importers
