#include "runtime/op_search.h"

namespace intaglio {

int32_t find_op_index(OpList ops, const Model& model, const NodeInfo& node) {
  const int32_t input = node.inputs[0];
  const DType reads = input < 0 ? DType::kNone : model.tensor(input).dtype;
  const DType writes = model.tensor(node.outputs[0]).dtype;
  int32_t found = kNoOp;
  for (size_t i = ops.size; i-- > 0;) {
    const OpDef& def = *ops[i];
    if (def.op != node.op || def.dtype != writes) continue;
    found = static_cast<int32_t>(i);
    if (def.input_dtype() == reads) break;
  }
  return found;
}

}  // namespace intaglio
