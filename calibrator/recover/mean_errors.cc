#include "calibrator/recover/mean_errors.h"

namespace intaglio {

Span<int32_t> biases_of(const Graph& graph, int32_t n, const QuantRule& rule) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const TensorInfo& tensor =
      graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(rule.bias_input)])];
  return {reinterpret_cast<int32_t*>(const_cast<uint8_t*>(tensor.constant.data)),
          static_cast<size_t>(tensor.shape.elements())};
}

const TensorInfo& weights_of(const Graph& graph, int32_t n, const QuantRule& rule) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  return graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(rule.weight_input)])];
}

double bias_step(const Graph& graph, int32_t n, const QuantRule& rule, size_t channel) {
  const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
  const TensorInfo& input = graph.tensors[static_cast<size_t>(node.inputs[0])];
  const float scale = weights_of(graph, n, rule).quantization.scales[channel];
  return static_cast<double>(input.quantization.scales[0]) * static_cast<double>(scale);
}

void exact_means(const RecoveryContext& context, int32_t n, int32_t half, Span<double> means) {
  const int32_t source = context.int8.graph().nodes[static_cast<size_t>(n)].source;
  const uint32_t* const samples = context.seen.observers[0].samples;
  const int64_t* const sums[] = {context.seen.mean_sums.data + context.observing.first_sum(source, 0),
                                 context.seen.mean_sums.data + context.observing.first_sum(source, 1)};
  for (size_t i = 0; i < means.size; ++i)
    means[i] = half == kBothHalves
                   ? mean_of(order_free_sum(sums[0][i], sums[1][i]), context.seen.sample_count)
                   : mean_of(sums[half][i], samples[half]);
}

}  // namespace intaglio
