#include "calibrator/quantization/sum_scales.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

bool is_known(const CalibratorMemory& memory, int32_t root) {
  for (const KnownParams& known : memory.options.known)
    if (!memory.model.tensor(known.tensor).is_constant() && memory.slots.slots.root(known.tensor) == root)
      return true;
  return false;
}

Error widen_sum(CalibratorMemory& memory, int32_t n, bool* widened) {
  constexpr float kMost = 0x1p14f, kWidened = 0x1p-12f;
  const NodeInfo node = memory.model.node(n);
  const OpDef* const def = find_op(float_ops(), memory.model, node);
  if (def == nullptr || !def->quant.sums) return kNoError;
  JointSlots& slots = memory.slots.slots;
  const int32_t output = slots.root(node.outputs[0]);
  if (slots.own(output).state != QuantState::kActivated || is_known(memory, output)) return kNoError;
  float largest = 0.0f;
  for (size_t i = 0; i < node.inputs.size; ++i) {
    const float scale = slots.params(memory.slots.input_slot(n, i)).scale;
    largest = scale > largest ? scale : largest;
  }
  QuantParams params = slots.params(output);
  if (largest <= kMost * params.scale) return kNoError;
  if (!slots.own(output).has(policy::kPowerOfTwo)) params.scale = largest * kWidened;
  while (params.scale < largest * kWidened) params.scale *= 2.0f;
  *widened = true;
  const Error error = slots.set_params(output, params);
  return error.ok() ? error : at_slot(memory.model, memory.slots, output, error);
}

}  // namespace

Error widen_sums(CalibratorMemory& memory) {
  // What is wider now may be an input of a sum that stands before it, where tensors share their range. Each
  // round leaves every output below the largest input, so that there is an end.
  for (bool widened = true; widened;) {
    widened = false;
    for (int32_t n = 0; n < memory.model.node_count(); ++n) ITG_TRY(widen_sum(memory, n, &widened));
  }
  return kNoError;
}

}  // namespace intaglio
