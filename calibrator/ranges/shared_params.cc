#include "calibrator/ranges/shared_params.h"

#include "calibrator/quantization/scales.h"

namespace intaglio {
namespace {

// Whether every value that `inner` has a code for lies within `outer`, up to one step.
bool covers(const QuantConfig& outer, const QuantConfig& inner) {
  const Range o = range_of(outer), i = range_of(inner);
  return o.lo <= i.lo + static_cast<double>(outer.scale) && o.hi >= i.hi - static_cast<double>(outer.scale);
}

// Observed: neither fixed by its operator nor by its pixels.
bool is_free(const SlotFacts& facts, const SlotMap& map, int32_t root) {
  const QuantRule* const rule = facts.rule(facts.writer(map.tensor_of[static_cast<size_t>(root)]));
  return rule != nullptr && rule->output == OutputRule::kObserved;
}

// A Concat's inputs take its scale where that costs them less than 1 dB; the others are requantized when
// baked.
Error share_concat(const Model& model, const SlotFacts& facts, int32_t n, SlotMap& map) {
  constexpr float kOneDecibel = 1.122f;
  const NodeInfo node = model.node(n);
  const QuantConfig whole = map.slots.config(node.outputs[0]);
  for (const int32_t input : node.inputs) {
    if (input < 0 || model.tensor(input).is_constant()) continue;
    if (facts.known_at(input) != nullptr || facts.known_at(node.outputs[0]) != nullptr) continue;
    const QuantConfig own = map.slots.config(input);
    const bool fits =
        own.bits == whole.bits && own.scale <= whole.scale && whole.scale < own.scale * kOneDecibel;
    if (fits && covers(whole, own) && is_free(facts, map, map.slots.root(input)))
      ITG_TRY(map.slots.dominate(input, node.outputs[0]));
  }
  return kNoError;
}

// All operands over the union of their ranges.
Error align_operands(const Model& model, const SlotFacts& facts, int32_t n, SlotMap& map) {
  const NodeInfo node = model.node(n);
  const int32_t first = map.slots.root(map.input_slot(n, 0));
  for (size_t i = 0; i < node.inputs.size; ++i)
    if (facts.known_at(map.input_slot(n, i)) != nullptr) return kNoError;
  Range all = range_of(map.slots.own(first));
  for (size_t i = 1; i < node.inputs.size; ++i) {
    const int32_t slot = map.input_slot(n, i);
    const Range range = range_of(map.slots.config(slot));
    all = {range.lo < all.lo ? range.lo : all.lo, range.hi > all.hi ? range.hi : all.hi};
    ITG_TRY(map.slots.dominate(slot, first));
  }
  const Error error = map.slots.set_params(first, params_of(all, map.slots.own(first), all.lo >= 0.0));
  return error.ok() ? error : at_slot(model, map, first, error);
}

}  // namespace

Error share_params(const Model& model, const CalibratorOptions& options, const SlotFacts& facts,
                   SlotMap& map) {
  // Backwards: what a Concat takes over is what the Concats behind it have settled.
  for (int32_t n = model.node_count() - 1; n >= 0; --n) {
    const QuantRule* const rule = facts.rule(n);
    if (rule == nullptr || map.slots.config(model.node_outputs(n)[0]).state != QuantState::kActivated)
      continue;
    if (rule->inputs_as_output && options.compat == Compat::kNone) {
      ITG_TRY(share_concat(model, facts, n, map));
    } else if (rule->sums && options.compat == Compat::kPpq) {
      ITG_TRY(align_operands(model, facts, n, map));
    }
  }
  return kNoError;
}

}  // namespace intaglio
