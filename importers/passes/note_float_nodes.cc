// Notes nodes that stay in FP32 though the file quantizes their inputs and outputs.
#include <algorithm>

#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

const char* reason(const Draft& draft, const DraftNode& node) {
  const bool has_constant = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
    return input >= 0 && draft.tensor(input).constant;
  });
  switch (traits(node.op).int8) {
    case Int8Form::kInterpolates:
      return "on codes its interpolation would round once more";
    case Int8Form::kArithmetic:
      if (has_constant) return "its constant lies on no grid of 8 bits";
      break;
    default:
      break;
  }
  return "it cannot compute on codes here";
}

bool is_weighted(const DraftNode& node) { return traits(node.op).int8 == Int8Form::kWeighted; }

const char* layer_reason(const Draft& draft, const Links& links, const DraftNode& layer) {
  if (links.writer(draft, layer.input(), Op::kDequantize) == nullptr) return "what it reads is not quantized";
  if (!has_float_weights(draft, layer)) return "its weights are not constant";
  const DraftTensor& weights = draft.tensor(layer.input(1));
  if (weights.scales.empty() && elements(weights.shape) != output_channels(draft, layer))
    return "its weights lie on no grid of 8 bits";
  int32_t result = layer.output();
  while (links.single_use(result)) {  // what only moves it
    const DraftNode& next = draft.node(links.consumers_of(result)[0]);
    if (traits(next.op).int8 != Int8Form::kMoves || next.outputs.size() != 1) break;
    result = next.output();
  }
  const auto& readers = links.consumers_of(result);
  const auto quantizers = std::count_if(
      readers.begin(), readers.end(), [&](int32_t reader) { return draft.node(reader).op == Op::kQuantize; });
  if (quantizers > 1) return "its result is quantized in more than one way";
  if (quantizers == 0 || readers.size() > 1 || is_model_output(draft, result))
    return "its result is not quantized";
  return "its weights lie on no grid of 8 bits";
}

// Layers with weights in a network that the file has quantized: how many stay in FP32, and why.
void note_float_layers(Draft& draft, const Links& links) {
  constexpr size_t kMostNamed = 8;
  size_t layers = 0, in_float = 0;
  std::string list;
  for (const DraftNode& node : draft.nodes) {
    if (!is_weighted(node)) continue;
    ++layers;
    if (draft.tensor(node.input(1)).dtype != DType::kF32) continue;
    if (++in_float > kMostNamed) continue;
    list += text(in_float == 1 ? ": " : "; ", label(node), ": ", layer_reason(draft, links, node));
  }
  const bool is_quantized = std::any_of(draft.nodes.begin(), draft.nodes.end(), [](const DraftNode& node) {
    return node.op == Op::kQuantize || node.op == Op::kDequantize;
  });
  if (in_float == 0 || !is_quantized) return;
  if (in_float > kMostNamed) list += text("; and ", in_float - kMostNamed, " more");
  draft.notes.push_back(text(in_float, " of ", layers, " layers with weights stay in FP32", list));
}

}  // namespace

void note_float_nodes(Draft& draft) {
  const Links links(draft);
  note_float_layers(draft, links);
  for (const DraftNode& node : draft.nodes) {
    if (node.op == Op::kDequantize || is_weighted(node) || draft.tensor(node.output()).dtype != DType::kF32)
      continue;
    const auto& readers = links.consumers_of(node.output());
    const bool is_quantized = !readers.empty() && !is_model_output(draft, node.output()) &&
                              std::all_of(readers.begin(), readers.end(), [&](int32_t reader) {
                                return draft.node(reader).op == Op::kQuantize;
                              });
    const bool reads_codes = std::all_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
      return input < 0 || draft.tensor(input).constant ||
             links.writer(draft, input, Op::kDequantize) != nullptr;
    });
    if (!is_quantized || !reads_codes) continue;
    draft.notes.push_back(
        text(label(node), " stays in FP32: ",
             readers.size() > 1 ? "its result is quantized in more than one way" : reason(draft, node)));
  }
}

}  // namespace intaglio::importers
