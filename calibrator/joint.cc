#include "calibrator/joint.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

JointSlots::JointSlots(int32_t count, Arena& arena)
    : parent_(arena.make<int32_t>(static_cast<size_t>(count))),
      params_(arena.make<QuantParams>(static_cast<size_t>(count))) {
  for (size_t i = 0; i < parent_.size; ++i) parent_[i] = static_cast<int32_t>(i);
}

int32_t JointSlots::root(int32_t slot) const {
  while (parent_[static_cast<size_t>(slot)] != slot) slot = parent_[static_cast<size_t>(slot)];
  return slot;
}

void JointSlots::join(int32_t a, int32_t b) {
  a = root(a);
  b = root(b);
  parent_[static_cast<size_t>(a > b ? a : b)] = a > b ? b : a;
}

bool JointSlots::set(int32_t slot, const QuantParams& params) {
  if (root(slot) != slot) return false;
  params_[static_cast<size_t>(slot)] = params;
  return true;
}

SlotMap join_slots(const Model& model, OpList ops, Arena& arena) {
  SlotMap map;
  map.first_input_slot = arena.make<int32_t>(static_cast<size_t>(model.node_count()));
  if (arena.exhausted()) return map;
  int32_t count = model.tensor_count();
  for (int32_t n = 0; n < model.node_count(); ++n) {
    map.first_input_slot[static_cast<size_t>(n)] = count;
    count += static_cast<int32_t>(model.node(n).inputs.size);
  }
  map.slots = JointSlots(count, arena);
  if (arena.exhausted()) return map;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const int32_t first = map.first_input_slot[static_cast<size_t>(n)];
    for (size_t i = 0; i < node.inputs.size; ++i)
      if (node.inputs[i] >= 0) map.slots.join(first + static_cast<int32_t>(i), node.inputs[i]);
    const OpDef* const def = find_op(ops, model, node);
    if (def != nullptr && def->quant.output == OutputRule::kSameAsInput)
      for (const int32_t output : node.outputs) map.slots.join(output, first);
  }
  return map;
}

}  // namespace intaglio
