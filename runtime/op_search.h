// Which operator of a list runs a node.
#pragma once

#include "runtime/op.h"

namespace intaglio {

inline constexpr int32_t kNoOp = -1;

// The signature that tells the variants of an operator apart.
struct OpSignature {
  Op op;
  DType input, output;  // element types of the first input, kNone where it is absent, and of the first output
};

// Position in `ops` of the variant with this signature; kNoOp where there is none.
inline int32_t find_op_index(OpList ops, const OpSignature& signature) {
  for (size_t i = 0; i < ops.size; ++i) {
    const OpDef& def = *ops[i];
    if (def.op == signature.op && def.dtype == signature.output && def.input_dtype() == signature.input)
      return static_cast<int32_t>(i);
  }
  return kNoOp;
}

// The same for a node; where no variant takes its input, the first that writes its output, whose plan() says
// what is wrong with the input.
int32_t find_op_index(OpList ops, const Model& model, const NodeInfo& node);

inline const OpDef* find_op(OpList ops, const Model& model, const NodeInfo& node) {
  const int32_t index = find_op_index(ops, model, node);
  return index == kNoOp ? nullptr : ops[static_cast<size_t>(index)];
}

}  // namespace intaglio
