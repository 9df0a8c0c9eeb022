#include "calibrator/bias_correction.h"

#include "calibrator/patch_means.h"
#include "calibrator/scales.h"
#include "runtime/op_search.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

const QuantRule* weight_rule(const Graph& graph, size_t node) {
  const GraphNode& n = graph.nodes[node];
  if (graph.tensors[static_cast<size_t>(n.outputs[0])].dtype != DType::kS8) return nullptr;
  const int32_t index = find_op_index(int8_ops(), n.op, DType::kS8);
  if (index == kNoOp || int8_ops()[static_cast<size_t>(index)]->quant.weight_input < 0) return nullptr;
  return &int8_ops()[static_cast<size_t>(index)]->quant;
}

int32_t* biases_of(const TensorInfo& bias) {
  return reinterpret_cast<int32_t*>(const_cast<uint8_t*>(bias.constant.data));
}

// The file and the graph hold the same biases; a change goes to both, and to the folded bias that kernels
// read.
struct BiasPlaces {
  int32_t* in_graph;
  int32_t* in_file;
  int32_t* folded;
  int32_t channels;

  void set(int32_t c, int32_t bias) const {
    folded[c] = static_cast<int32_t>(int64_t{folded[c]} - in_file[c] + bias);
    in_graph[c] = in_file[c] = bias;
  }
};

BiasPlaces places(const Correctable& model, size_t n) {
  const QuantRule& rule = *weight_rule(*model.graph, n);
  const auto bias = static_cast<size_t>(rule.bias_input);
  const NodeInfo in_file = model.file.node(static_cast<int32_t>(n));
  const TensorInfo& in_graph = model.graph->tensors[static_cast<size_t>(model.graph->nodes[n].inputs[bias])];
  return {biases_of(in_graph), biases_of(model.file.tensor(in_file.inputs[bias])),
          const_cast<int32_t*>(in_file.options.folded_bias.data),
          static_cast<int32_t>(in_graph.shape.elements())};
}

template <typename Visit>
void for_each_weighted(const Graph& graph, Visit&& visit) {
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (weight_rule(graph, n) != nullptr) visit(n);
}

}  // namespace

bool has_weights(const Graph& graph, size_t node) { return weight_rule(graph, node) != nullptr; }

void correct_bias(const Correctable& model, int32_t n, const Model& fp32, Span<const double> fp32_means,
                  Span<const double> int8_means) {
  const auto index = static_cast<size_t>(n);
  const QuantRule& rule = *weight_rule(*model.graph, index);
  const NodeInfo exact_node = fp32.node(model.graph->nodes[index].source);
  const NodeInfo node = model.file.node(n);
  const TensorInfo exact_weights = fp32.tensor(exact_node.inputs[static_cast<size_t>(rule.weight_input)]);
  const TensorInfo weights = model.file.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
  const auto* exact = reinterpret_cast<const float*>(exact_weights.constant.data);
  const auto* codes = reinterpret_cast<const int8_t*>(weights.constant.data);
  const auto bias = static_cast<size_t>(rule.bias_input);
  const bool has_bias = bias < exact_node.inputs.size && exact_node.inputs[bias] >= 0;
  const auto* exact_bias =
      has_bias ? reinterpret_cast<const float*>(fp32.tensor(exact_node.inputs[bias]).constant.data) : nullptr;
  const auto in_scale = static_cast<double>(model.file.tensor(node.inputs[0]).quantization.scales[0]);
  const BiasPlaces place = places(model, index);
  for (int32_t c = 0; c < place.channels; ++c) {
    const double step = in_scale * static_cast<double>(weights.quantization.scales[static_cast<size_t>(c)]);
    const double exact_mean = mean_output(exact_node, weights.shape, exact, c, fp32_means) +
                              (has_bias ? static_cast<double>(exact_bias[c]) : 0.0);
    const double int8_mean = mean_output(node, weights.shape, codes, c, int8_means) *
                                 static_cast<double>(weights.quantization.scales[static_cast<size_t>(c)]) +
                             place.in_file[c] * step;
    const auto room =
        static_cast<double>(bias_room({codes, weights.constant.size}, weights.shape, rule.weight_axis, c));
    double target = place.in_file[c] + (exact_mean - int8_mean) / step;
    target = target > room ? room : (target < -room ? -room : target);
    place.set(c, static_cast<int32_t>(round_even(target)));
  }
}

size_t bias_count(const Graph& graph) {
  size_t count = 0;
  for_each_weighted(graph, [&](size_t n) {
    const auto bias = static_cast<size_t>(weight_rule(graph, n)->bias_input);
    count +=
        static_cast<size_t>(graph.tensors[static_cast<size_t>(graph.nodes[n].inputs[bias])].shape.elements());
  });
  return count;
}

void keep_biases(const Graph& graph, Span<int32_t> biases) {
  int32_t* at = biases.data;
  for_each_weighted(graph, [&](size_t n) {
    const auto bias = static_cast<size_t>(weight_rule(graph, n)->bias_input);
    const TensorInfo& tensor = graph.tensors[static_cast<size_t>(graph.nodes[n].inputs[bias])];
    memcpy(at, tensor.constant.data, tensor.constant.size);
    at += tensor.shape.elements();
  });
}

void restore_biases(const Correctable& model, Span<const int32_t> biases) {
  const int32_t* at = biases.data;
  for_each_weighted(*model.graph, [&](size_t n) {
    const BiasPlaces place = places(model, n);
    for (int32_t c = 0; c < place.channels; ++c) place.set(c, *at++);
  });
}

}  // namespace intaglio
