// What the passes that change weights share.
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

// The node writes `tensor` from now on, in place of its own output: a node between them has been folded.
void take_over_output(Draft& draft, DraftNode& node, int32_t tensor);

}  // namespace intaglio::importers
