// What stays in FP32 though the file has quantized what it reads and what it gives.
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
    case Int8Form::kWeighted:
      return "its weights lie on no grid of 8 bits";
    case Int8Form::kArithmetic:
      if (has_constant) return "its constant lies on no grid of 8 bits";
      break;
    default:
      break;
  }
  return "it cannot compute on codes here";
}

}  // namespace

void note_float_nodes(Draft& draft) {
  const Links links(draft);
  const auto is = [&](int32_t node, Op op) {
    return node >= 0 && draft.nodes[static_cast<size_t>(node)].op == op;
  };
  for (const DraftNode& node : draft.nodes) {
    if (node.op == Op::kDequantize || draft.tensor(node.output()).dtype != DType::kF32) continue;
    const auto& readers = links.consumers_of(node.output());
    const bool is_quantized = !readers.empty() && !is_model_output(draft, node.output()) &&
                              std::all_of(readers.begin(), readers.end(),
                                          [&](int32_t reader) { return is(reader, Op::kQuantize); });
    const bool reads_codes = std::all_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
      return input < 0 || draft.tensor(input).constant || is(links.producer_of(input), Op::kDequantize);
    });
    if (!is_quantized || !reads_codes) continue;
    draft.notes.push_back(
        text(label(node), " stays in FP32: ",
             readers.size() > 1 ? "its result is quantized in more than one way" : reason(draft, node)));
  }
}

}  // namespace intaglio::importers
