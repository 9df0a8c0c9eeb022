#include "calibrator/ranges/slot_params.h"

#include "calibrator/quantization/sum_scales.h"
#include "calibrator/ranges/observed_range.h"
#include "calibrator/ranges/score_ranges.h"
#include "calibrator/ranges/shared_params.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

// What the operator fixes for 8 bits, over the same range for any number of them.
QuantParams fixed_params(const QuantRule& rule, const QuantConfig& config, Compat compat) {
  const QuantParams fixed{rule.fixed_scale, rule.fixed_zero_point, config.lo, config.hi};
  if (compat == Compat::kTengine || config.has(policy::kExponential)) {
    const auto hi = static_cast<double>(fixed.scale) * (128 - fixed.zero_point);
    return params_of({fixed.zero_point == -128 ? 0.0 : -hi, hi}, config);
  }
  if (config.lo == -128 && config.hi == 127) return fixed;
  if (config.bits > 8 && config.has(policy::kSymmetric))
    return {fixed.scale * static_cast<float>(128 - fixed.zero_point) / static_cast<float>(config.hi + 1), 0,
            config.lo, config.hi};
  const double step =
      static_cast<double>(fixed.scale) * 256.0 / (static_cast<double>(config.hi) - config.lo + 1.0);
  return {static_cast<float>(step), fixed.zero_point == -128 ? config.lo : 0, config.lo, config.hi};
}

// One lane's view of the slots.
struct LaneParams {
  const ParamSource& source;
  const SlotMap& map;
  const SlotFacts& facts;
  RangeFinder ranges;

  // Scale 0: there is nothing to choose it from.
  QuantParams of_root(int32_t slot) const {
    const QuantConfig& config = map.slots.own(slot);
    const int32_t tensor = map.tensor_of[static_cast<size_t>(slot)];
    const bool non_negative = facts.is_non_negative(tensor);
    const TensorInfo info = source.fp32.model.tensor(tensor);
    if (const KnownParams* const known = facts.known_at(slot))
      return {known->scale, known->zero_point, config.lo, config.hi};
    if (info.is_constant()) return params_of(range_of_constant(info), config, non_negative);
    if (const QuantRule* const rule = facts.fixing_rule(tensor))
      return fixed_params(*rule, config, source.options.compat);
    Range range;
    if (!ranges.find(tensor, config, range)) return QuantParams();
    return params_of(range, config, non_negative && range.lo >= 0.0);
  }
};

}  // namespace

bool has_functions(const Model& model) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const OpDef* const def = find_op(float_ops(), model, model.node(n));
    if (def != nullptr && def->quant.unary != nullptr) return true;
  }
  return false;
}

Error choose_params(const ParamSource& source, RangeMethod method, int32_t half, Slots& slots) {
  const Model& model = source.fp32.model;
  Arena arena = slots.memory;
  const Result<SlotMap> made = make_slots(model, source.options, method, arena);
  if (!made) return made.error();
  SlotMap& map = slots.map = *made;
  const SlotFacts facts(model, source.options, map, arena);
  const int32_t count = map.slots.count(), lanes = source.fp32.lane_count;
  const Span<QuantParams> chosen = arena.make<QuantParams>(static_cast<size_t>(count));
  if (arena.exhausted()) return {Status::kOutOfMemory};
  parallel_for(source.fp32.executor, lanes, [&](int32_t lane) {
    FunctionBehind* const behind = slots.behind.empty() ? nullptr : &slots.behind[static_cast<size_t>(lane)];
    const LaneParams params{
        source, map, facts, {source, facts, half, behind, source.observing.spare[static_cast<size_t>(lane)]}};
    for (int32_t slot = lane; slot < count; slot += lanes)
      if (facts.is_root(slot)) chosen[static_cast<size_t>(slot)] = params.of_root(slot);
  });
  for (int32_t slot = 0; slot < count; ++slot) {
    if (!facts.is_root(slot)) continue;
    const QuantParams& params = chosen[static_cast<size_t>(slot)];
    if (params.scale == 0.0f) return at_slot(model, map, slot, {Status::kQuantizationMissing});
    const Error error = map.slots.set_params(slot, params);
    if (!error.ok()) return at_slot(model, map, slot, error);
  }
  ITG_TRY(share_params(model, source.options, facts, map));
  ITG_TRY(set_score_ranges(source, facts, map));
  return widen_sums(model, source.options.known, map);
}

}  // namespace intaglio
