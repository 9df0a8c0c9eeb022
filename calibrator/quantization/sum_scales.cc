#include "calibrator/quantization/sum_scales.h"

#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

bool is_known(const Model& model, Span<const KnownParams> list, const SlotMap& map, int32_t root) {
  for (const KnownParams& known : list)
    if (!model.tensor(known.tensor).is_constant() && map.slots.root(slot_of(map, known)) == root) return true;
  return false;
}

Error widen_sum(const Model& model, Span<const KnownParams> known, SlotMap& map, int32_t n, bool* widened) {
  const NodeInfo node = model.node(n);
  const OpDef* const def = find_op(float_ops(), model, node);
  if (def == nullptr) return kNoError;
  const bool averages = def->quant.channels == ChannelRule::kShifts && !def->quant.sums &&
                        def->quant.output == OutputRule::kObserved;
  if (!def->quant.sums && !averages) return kNoError;
  const float most = averages ? 0x1p8f : 0x1p14f, widest = averages ? 0x1p-8f : 0x1p-12f;
  JointSlots& slots = map.slots;
  const int32_t output = slots.root(node.outputs[0]);
  if (slots.own(output).state != QuantState::kActivated || is_known(model, known, map, output))
    return kNoError;
  float largest = 0.0f;
  for (size_t i = 0; i < node.inputs.size; ++i) {
    const float scale = slots.params(map.input_slot(n, i)).scale;
    largest = scale > largest ? scale : largest;
  }
  QuantParams params = slots.params(output);
  if (largest <= most * params.scale) return kNoError;
  if (!slots.own(output).has(policy::kPowerOfTwo)) params.scale = largest * widest;
  while (params.scale < largest * widest) params.scale *= 2.0f;
  *widened = true;
  const Error error = slots.set_params(output, params);
  return error.ok() ? error : at_slot(model, map, output, error);
}

}  // namespace

Error widen_sums(const Model& model, Span<const KnownParams> known, SlotMap& map) {
  // A tensor that is wider now may be an input of a sum that stands before it, where tensors share their range. Each
  // round leaves every output below the largest input, so that there is an end.
  for (bool widened = true; widened;) {
    widened = false;
    for (int32_t n = 0; n < model.node_count(); ++n) ITG_TRY(widen_sum(model, known, map, n, &widened));
  }
  return kNoError;
}

}  // namespace intaglio
