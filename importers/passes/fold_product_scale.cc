// A factor of an operand, or of the result, of a product of two activations goes into the product, which multiplies by it in
// any case. Nodes that move elements may stand between an operand's factor and the product.
#include <algorithm>

#include "importers/draft/op_traits.h"
#include "importers/passes/folding.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// Of a Mul, or a Div, by one number above 0 in FP32: that number, and x; 0: none.
float factor_of(const Draft& draft, const DraftNode& node, int32_t* x) {
  if ((node.op != Op::kMul && node.op != Op::kDiv) || node.inputs.size() != 2 || has_clamp(node)) return 0.0f;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const DraftTensor& number = draft.tensor(node.inputs[1 - i]);
    if (node.op == Op::kDiv && i == 1) break;
    if (!number.constant || number.dtype != DType::kF32 || elements(number.shape) != 1) continue;
    *x = node.inputs[i];
    const float value = values_of<float>(number)[0], factor = node.op == Op::kMul ? value : 1.0f / value;
    const bool fits = factor > 1e-18f && factor < 1e18f && !draft.tensor(*x).constant &&
                      draft.tensor(*x).dtype == DType::kF32 &&
                      draft.tensor(*x).shape == draft.tensor(node.output()).shape;
    return fits ? factor : 0.0f;
  }
  return 0.0f;
}

// Node `product` reads what stands before the factor.
bool take_operand(Draft& draft, Links& links, int32_t product, size_t operand) {
  int32_t reader = product;
  size_t input = operand;
  while (true) {
    int32_t& tensor = draft.nodes[static_cast<size_t>(reader)].inputs[input];
    const int32_t index = links.producer_of(tensor);
    if (index < 0 || !links.single_use(tensor)) return false;
    DraftNode& writer = draft.nodes[static_cast<size_t>(index)];
    int32_t x = -1;
    if (const float factor = factor_of(draft, writer, &x); factor > 0.0f) {
      draft.nodes[static_cast<size_t>(product)].options.as<BatchMatMulOptions>().scale *= factor;
      std::vector<int32_t>& readers = links.consumers[static_cast<size_t>(x)];
      std::replace(readers.begin(), readers.end(), index, reader);
      tensor = x;
      writer.outputs.clear();  // dead
      return true;
    }
    const bool moves = traits(writer.op).int8 == Int8Form::kMoves && !writer.inputs.empty();
    if (!moves || draft.tensor(writer.output()).dtype != DType::kF32) return false;
    reader = index;
    input = 0;
  }
}

bool take_result(Draft& draft, Links& links, DraftNode& mul) {
  int32_t x = -1;
  const float factor = factor_of(draft, mul, &x);
  const int32_t index = factor > 0.0f ? links.producer_of(x) : -1;
  if (index < 0 || !links.single_use(x)) return false;
  DraftNode& product = draft.nodes[static_cast<size_t>(index)];
  if (product.op != Op::kBatchMatMul) return false;
  product.options.as<BatchMatMulOptions>().scale *= factor;
  take_over_output(draft, product, mul.output());
  links.producer[static_cast<size_t>(mul.output())] = index;
  mul.outputs.clear();  // dead
  return true;
}

}  // namespace

bool fold_product_scale(Draft& draft) {
  bool changed = false;
  Links links(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    DraftNode& node = draft.nodes[n];
    if (node.outputs.empty()) continue;  // dead
    if (node.op == Op::kBatchMatMul && draft.tensor(node.output()).dtype == DType::kF32) {
      for (const size_t operand : {size_t{0}, size_t{1}})
        while (take_operand(draft, links, static_cast<int32_t>(n), operand)) changed = true;
    } else {
      changed = take_result(draft, links, node) || changed;
    }
  }
  return changed;
}

}  // namespace intaglio::importers
