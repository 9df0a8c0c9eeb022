#include "calibrator/quantization/int8_nodes.h"

#include "calibrator/quantization/answers.h"
#include "runtime/op_search.h"

namespace intaglio {

Op int8_op(const NodeInfo& node, const QuantRule& rule) {
  const bool looks_up = rule.table == TableRule::kUnary || rule.table == TableRule::kUnaryPerChannel;
  return looks_up ? Op::kLookup : node.op;
}

namespace {

bool has_int8_version(const Model& model, const NodeInfo& info, const OpDef* def) {
  if (def == nullptr || info.inputs[0] < 0 || info.outputs.size != 1) return false;
  const DType reads = model.tensor(info.inputs[0]).dtype, writes = model.tensor(info.outputs[0]).dtype;
  if (reads != DType::kF32 && writes != DType::kF32) return false;  // of integers alone
  const auto in_int8 = [](DType dtype) { return dtype == DType::kF32 ? DType::kS8 : dtype; };
  return find_op_index(int8_ops(), {int8_op(info, def->quant), in_int8(reads), in_int8(writes)}) != kNoOp;
}

// The node's only input of reals that is no constant; -1: it has several, or none.
int32_t only_activation(const Model& model, const NodeInfo& info) {
  int32_t found = -1;
  for (const int32_t input : info.inputs) {
    if (input < 0 || model.tensor(input).is_constant() || model.tensor(input).dtype != DType::kF32) continue;
    if (found >= 0) return -1;
    found = input;
  }
  return found;
}

// Whether an operator without an int8 version stands before the node, with nothing but nodes of one input and without
// weights between them.
bool continues_float(const Model& model, int32_t node) {
  while (true) {
    const NodeInfo info = model.node(node);
    const OpDef* const def = find_op(float_ops(), model, info);
    if (!has_int8_version(model, info, def)) return true;
    if (def->quant.weight_input >= 0) return false;
    const int32_t input = only_activation(model, info);
    int32_t writer = node - 1;
    while (writer >= 0 && (input < 0 || model.node(writer).outputs[0] != input)) --writer;
    if (writer < 0) return false;
    node = writer;
  }
}

}  // namespace

bool becomes_int8(const Model& model, int32_t node, const CalibratorOptions& options) {
  for (const int32_t in_float : options.float_nodes)
    if (in_float == node) return false;
  return !continues_float(model, node) && !follows_answer(model, node, options);
}

}  // namespace intaglio
