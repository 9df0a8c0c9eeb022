// Which operator of a list runs a node.
#pragma once

#include "runtime/op.h"

namespace intaglio {

inline constexpr int32_t kNoOp = -1;

// Position in `ops` of the operator with this code for this element type; kNoOp where there is none.
inline int32_t find_op_index(OpList ops, Op op, DType dtype) {
  for (size_t i = 0; i < ops.size; ++i)
    if (ops[i]->op == op && ops[i]->dtype == dtype) return static_cast<int32_t>(i);
  return kNoOp;
}

// The operator of a node: by its code and the element type of its first output.
inline const OpDef* find_op(OpList ops, const Model& model, const NodeInfo& node) {
  const int32_t index = find_op_index(ops, node.op, model.tensor(node.outputs[0]).dtype);
  return index == kNoOp ? nullptr : ops[static_cast<size_t>(index)];
}

}  // namespace intaglio
