// Bias correction: each output channel's mean error, from mean inputs, goes into its bias.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

// Adds to each bias of node `n` of the int8 graph the mean output of the FP32 layer less the mean output of
// the int8 one, given the mean inputs of both as reals. Never past what keeps the accumulator in int32.
void correct_bias(Graph& graph, int32_t n, const Model& fp32, Span<const double> fp32_means,
                  Span<const double> int8_means, const Executor& executor);

// From the FP32 means alone: what the rounding of the weights adds, of every layer.
Error correct_layers_alone(RecoveryContext& context);

// The same over all samples, or those that judge, each brought to node `n` from where it stands in the
// context's walk.
Error correct_layer(RecoveryContext& context, int32_t n, int32_t stand, bool by_judges = false);

// From the FP32 means alone first, undone where that makes the network's error grow. Where the samples can be
// had again then all layers in order, each with its predecessors quantized and corrected: that fits these
// samples (inputs that are clipped in a few of them move means that no bias can mend), and stays where it is
// better than the first attempt. Where not all samples judge those that do show first whether it is.
Error correct_biases(RecoveryContext& context);

}  // namespace intaglio
