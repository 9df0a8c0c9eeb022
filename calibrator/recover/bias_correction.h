// Bias correction: each output channel's mean error, from mean inputs, goes into its bias.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

// From the FP32 means alone, of all samples or of one half: what the rounding of the weights adds, of every layer. Changes
// the graph alone.
void correct_layers_alone(RecoveryContext& context, int32_t half = kBothHalves);

// The same of all that quantization adds to one layer, from all samples, each brought to node `n` from where it stands in the
// context's walk. A few samples show errors of their own, which others do not have: only a share of the mean error is
// corrected. It is what the samples of each half show of the other's errors, over all channels:
//
//   share = sum e0 e1 / sum e^2, within [0, 1]    e0, e1: mean error of a channel by the samples of each half; e: by all
//
// which estimates the share with the least squared error on other samples (James and Stein). Where a half has no sample it
// is n / (n + 1 + 16 / p), of n samples with p positions: one picture says much of a layer with many positions, and hardly
// anything of a vector.
Error correct_layer(RecoveryContext& context, int32_t n, int32_t stand);

// What the corrections take of the int8 model's arena.
uint64_t bias_correction_bytes(const Model& fp32, const CalibratorOptions& options);

// From the FP32 means alone first, and then, where the samples can be had again, by them. One run of the samples shows the mean
// errors of all layers, and how far shifts come (mean_shifts.h): a layer is corrected by its error less what the corrections of
// those before it bring. That may be twice its error at most, as slopes are those before the corrections. A second run shows what
// that has missed. The best of the three models stays. Vectors that an activation cuts off are left out.
Result<Candidate> correct_biases(RecoveryContext& context, const Candidate& now);
// Repeats the corrections that an earlier calibration has kept, without judging them.
Result<Candidate> correct_biases_as(RecoveryContext& context, const KeptBiases& before, const Candidate& now);

}  // namespace intaglio
