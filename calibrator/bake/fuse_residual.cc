#include "calibrator/bake/fuse_residual.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

const QuantRule* rule_of(const Graph& graph, const GraphNode& node) {
  const int32_t index = find_op_index(all_ops(), signature_of(graph, node));
  return index == kNoOp ? nullptr : &all_ops()[static_cast<size_t>(index)]->quant;
}

bool read_once(const Graph& graph, int32_t tensor) {
  int32_t reads = 0;
  for (const GraphNode& node : graph.nodes)
    for (const int32_t input : node.inputs) reads += input == tensor ? 1 : 0;
  for (const int32_t output : graph.outputs) reads += output == tensor ? 2 : 0;
  for (const StateInfo& state : graph.states) reads += state.output == tensor ? 2 : 0;
  return reads == 1;
}

// The convolution that writes `tensor` for the Add at `add` alone; -1 where there is none that can take a
// residual.
int32_t feeding_convolution(const Graph& graph, size_t add, int32_t tensor) {
  for (size_t n = add; n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    if (node.outputs[0] != tensor) continue;
    const QuantRule* const rule = rule_of(graph, node);
    const bool free = rule != nullptr && rule->residual_input >= 0 &&
                      node.inputs.size <= static_cast<size_t>(rule->residual_input);
    const auto clamp = node.options.value<Clamp>();
    const bool whole = clamp.lo == -128 && clamp.hi == 127;
    return free && whole && read_once(graph, tensor) ? static_cast<int32_t>(n) : -1;
  }
  return -1;
}

bool fuse(Graph& graph, Arena& arena, size_t add, int32_t convolution, int32_t residual) {
  const GraphNode conv = graph.nodes[static_cast<size_t>(convolution)];
  GraphNode& node = graph.nodes[add];
  const auto slot = static_cast<size_t>(rule_of(graph, conv)->residual_input);
  const Span<int32_t> inputs = arena.make<int32_t>(slot + 1);
  if (inputs.empty()) return false;
  for (size_t i = 0; i < slot; ++i) inputs[i] = i < conv.inputs.size ? conv.inputs[i] : -1;
  inputs[slot] = residual;
  const Quantization& own = graph.tensors[static_cast<size_t>(conv.outputs[0])].quantization;
  NodeOptions options = conv.options;
  auto& fused = options.as<Conv2dOptions>();
  const auto& sum = node.options.as<AddOptions>();
  fused.intermediate = {own.scales[0], own.zero_point};
  fused.clamp.lo = sum.clamp.lo;
  fused.clamp.hi = sum.clamp.hi;
  fused.add_bits = sum.add_bits;
  // Runs where the Add ran, so that the residual is there.
  node = {conv.op, conv.name, inputs, node.outputs, options, conv.source};
  for (size_t n = static_cast<size_t>(convolution); n + 1 < graph.nodes.size(); ++n)
    graph.nodes[n] = graph.nodes[n + 1];
  graph.nodes.resize_down(graph.nodes.size() - 1);
  return true;
}

}  // namespace

void fuse_residual(Graph& graph, Arena& arena) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const QuantRule* const rule = rule_of(graph, node);
    if (rule == nullptr || !rule->folds_residual || node.inputs.size != 2) continue;
    const auto& a = graph.tensors[static_cast<size_t>(node.inputs[0])];
    const auto& b = graph.tensors[static_cast<size_t>(node.inputs[1])];
    if (a.dtype != DType::kS8 || b.dtype != DType::kS8 || a.shape != b.shape || a.is_constant() ||
        b.is_constant())
      continue;
    // Of two convolutions the later one: its result then never has to wait in memory.
    const int32_t first = feeding_convolution(graph, n, node.inputs[0]);
    const int32_t second = feeding_convolution(graph, n, node.inputs[1]);
    const int32_t chosen = first > second ? first : second;
    if (chosen < 0) continue;
    if (fuse(graph, arena, n, chosen, node.inputs[first > second ? 1 : 0])) --n;
  }
}

}  // namespace intaglio
