// Bias correction, and what it goes by: how far each output channel of an int8 layer is off in the mean.
#pragma once

#include "calibrator/observe/patch_means.h"
#include "calibrator/recover/recovery.h"

namespace intaglio {

// The constants of node `n` of an int8 graph.
Span<int32_t> biases_of(const Graph& graph, int32_t n, const QuantRule& rule);
const TensorInfo& weights_of(const Graph& graph, int32_t n, const QuantRule& rule);
// What one code of a bias is worth.
double bias_step(const Graph& graph, int32_t n, const QuantRule& rule, size_t channel);

// Mean inputs over `half` of the samples, or over all of them, of the FP32 node that node `n` was made from.
void exact_means(const RecoveryContext& context, int32_t n, int32_t half, Span<double> means);

// Mean outputs of a layer's channels from `first` on, `count` of them: known ones, or computed and kept.
template <typename Compute>
void known_or_computed(Span<double> kept, bool known, int32_t first, int32_t count, double* means,
                       Compute&& compute) {
  double* const place = kept.data == nullptr ? nullptr : kept.data + first;
  const size_t bytes = static_cast<size_t>(count) * sizeof(double);
  if (known) {
    memcpy(means, place, bytes);
    return;
  }
  compute();
  if (place != nullptr) memcpy(place, means, bytes);
}

// Calls visit(channel, error): the mean output of the FP32 layer over `half` of the samples, less that of the int8 one, given
// the mean inputs of the latter as reals; nullptr: those of the FP32 model. Channels may be visited at once.
template <typename Visit>
void for_each_mean_error(RecoveryContext& context, int32_t n, int32_t half,
                         const Span<const double>* int8_means, int32_t lane, const Executor& executor,
                         Visit&& visit) {
  const Graph& graph = context.int8.graph();
  const QuantRule& rule = *weight_rule(graph, n);
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const Model& fp32 = context.fp32.model;
  const NodeInfo exact_node = fp32.node(node.source);
  const auto weight = static_cast<size_t>(rule.weight_input), bias = static_cast<size_t>(rule.bias_input);
  const TensorInfo exact_weights = fp32.tensor(exact_node.inputs[weight]);
  const TensorInfo& weights = graph.tensors[static_cast<size_t>(node.inputs[weight])];
  const auto* exact = reinterpret_cast<const float*>(exact_weights.constant.data);
  const auto* codes = reinterpret_cast<const int8_t*>(weights.constant.data);
  const bool has_bias = bias < exact_node.inputs.size && exact_node.inputs[bias] >= 0;
  const auto* exact_bias =
      has_bias ? reinterpret_cast<const float*>(fp32.tensor(exact_node.inputs[bias]).constant.data) : nullptr;
  const Span<const int32_t> biases = biases_of(graph, n, rule);

  MeanOutputs none;
  MeanOutputs& kept = half == kBothHalves ? none : context.int8.means(node.source, half);
  const bool alone = int8_means == nullptr, knows_codes = alone && kept.knows_codes;
  Span<double> fp32_means;
  if (!kept.knows_reals || (alone && !knows_codes)) {
    fp32_means = context.observing.means_of(node.source, lane);
    exact_means(context, n, half, fp32_means);
  }
  const Span<const double> inputs = alone ? fp32_means : *int8_means;
  const auto channels = static_cast<int32_t>(biases.size);
  parallel_for(executor, (channels + kMeanLanes - 1) / kMeanLanes, [&](int32_t block) {
    const int32_t first = block * kMeanLanes,
                  count = channels - first < kMeanLanes ? channels - first : kMeanLanes;
    double exact_mean[kMeanLanes], int8_mean[kMeanLanes];
    known_or_computed(kept.of_reals, kept.knows_reals, first, count, exact_mean, [&] {
      mean_outputs(exact_node, weights.shape, exact, first, count, fp32_means, exact_mean);
    });
    known_or_computed(alone ? kept.of_codes : Span<double>(), knows_codes, first, count, int8_mean, [&] {
      mean_outputs(exact_node, weights.shape, codes, first, count, inputs, int8_mean);
    });
    for (int32_t l = 0; l < count; ++l) {
      const auto c = static_cast<size_t>(first + l);
      const auto scale = static_cast<double>(weights.quantization.scales[c]);
      visit(c, exact_mean[l] + (has_bias ? static_cast<double>(exact_bias[c]) : 0.0) -
                   (int8_mean[l] * scale + biases[c] * bias_step(graph, n, rule, c)));
    }
  });
  kept.knows_reals = true;
  kept.knows_codes = kept.knows_codes || alone;
}

// Bias correction: each output channel's mean error, from mean inputs, goes into its bias.

// From the FP32 means alone, of all samples or of one half: what the rounding of the weights adds, of every layer. Changes
// the graph alone.
void correct_layers_alone(RecoveryContext& context, int32_t half = kBothHalves);

// The same of all that quantization adds, from samples of `part`, each brought to node `n` from where it stands in the
// context's walk. A few samples show errors of their own, which others do not have: only a share of the mean error is
// corrected. It is what the samples of each half show of the other's errors, over all channels:
//
//   share = sum e0 e1 / sum e^2, within [0, 1]    e0, e1: mean error of a channel by the samples of each half; e: by all
//
// which estimates the share with the least squared error on other samples (James and Stein). Where a half has no sample it
// is n / (n + 1 + 16 / p), of n samples with p positions: one picture says much of a layer with many positions, and hardly
// anything of a vector.
Error correct_layer(RecoveryContext& context, int32_t n, int32_t stand, Part part = Part::kAll);

// The second of every layer, in their order, from one half of the samples, where correct_layers_alone() has been. Vectors
// that an activation cuts off are left out.
Error correct_layers(RecoveryContext& context, int32_t half);

// From the FP32 means alone first, undone where that makes the network's error grow. Where the samples can be
// had again, and the candidate says so, then all layers in order, each with its predecessors quantized and corrected: that
// fits these samples (inputs that are clipped in a few of them move means that no bias can mend), and stays where it is
// better than the first attempt. Where not all samples judge those that do show first whether it is.
Result<Candidate> correct_biases(RecoveryContext& context, const Candidate& now);
// What an earlier calibration has kept is done, without judging it.
Result<Candidate> correct_biases_as(RecoveryContext& context, const KeptBiases& before, const Candidate& now);

}  // namespace intaglio
