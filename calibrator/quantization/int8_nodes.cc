#include "calibrator/quantization/int8_nodes.h"

#include "calibrator/quantization/answers.h"
#include "runtime/op_search.h"

namespace intaglio {

Op int8_op(const NodeInfo& node, const QuantRule& rule) {
  const bool looks_up = rule.table == TableRule::kUnary || rule.table == TableRule::kUnaryPerChannel;
  return looks_up ? Op::kLookup : node.op;
}

bool becomes_int8(const Model& model, int32_t node, const CalibratorOptions& options) {
  for (const int32_t in_float : options.float_nodes)
    if (in_float == node) return false;
  const NodeInfo info = model.node(node);
  const OpDef* const def = find_op(float_ops(), model, info);
  if (def == nullptr || info.outputs.size != 1 || follows_answer(model, node, options)) return false;
  return find_op_index(int8_ops(), {int8_op(info, def->quant), DType::kS8, DType::kS8}) != kNoOp;
}

}  // namespace intaglio
