#include "calibrator/ranges/slot_params.h"

#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/quantization/scales.h"
#include "calibrator/ranges/observed_range.h"
#include "calibrator/ranges/ranges.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

namespace {

// Scales with which every Add and Sub can be computed exactly, and means as other runtimes compute them.

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

// An exact addition takes scales of its inputs up to 2^14 times the output's (runtime/add_params.h). Where
// nearly nothing is left of the operands (a - a), the output gets a wider scale, 2^-12 of the larger input's:
// still far finer than one code of the operands, which is all that int8 can tell apart there. A mean of values that cancel (behind an
// instance normalization) gets 2^-8 of its input's: onnxruntime refuses to run finer ones. `known`
// parameters, which the caller gave, stay. The slots of `map` have parameters.
Error widen_sums(const Model& model, Span<const KnownParams> known, SlotMap& map) {
  // A tensor that is wider now may be an input of a sum that stands before it, where tensors share their range. Each
  // round leaves every output below the largest input, so that there is an end.
  for (bool widened = true; widened;) {
    widened = false;
    for (int32_t n = 0; n < model.node_count(); ++n) ITG_TRY(widen_sum(model, known, map, n, &widened));
  }
  return kNoError;
}

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

namespace {

// No scores differ by this much: an operand that reaches as far is a mask.
constexpr double kLeastOfMasks = 1024.0;
// e^-24 is 0 in codes of 16 bits. So is the sum of a thousand of them.
constexpr double kBelow = 24.0;

bool masks(const Range& range) { return range.hi - range.lo > kLeastOfMasks; }

Range negated(const Range& range) { return {-range.hi, -range.lo}; }

class ScoreSum {
 public:
  ScoreSum(const ParamSource& source, const SlotFacts& facts, SlotMap& map, int32_t node)
      : source_(source), facts_(facts), map_(map), node_(node), info_(source.fp32.model.node(node)) {}

  // Before any mask is set: none reaches anywhere.
  Error clear_masks() {
    for (size_t i = 0; i < 2; ++i)
      if (is_mask(model(), info_.inputs[i], source_.options))
        ITG_TRY(set_range(map_.input_slot(node_, i), Range()));
    return kNoError;
  }

  Error set() {
    const Range terms[] = {term(0), term(1)};
    Range scores;           // of the operands that mask nothing
    double unmasked = 0.0;  // what the others add where they mask nothing
    for (const Range& term : terms) {
      if (masks(term))
        unmasked += term.hi;
      else
        scores = {scores.lo + term.lo, scores.hi + term.hi};
    }
    const double below = masks(terms[0]) || masks(terms[1]) ? kBelow : 0.0;
    for (size_t i = 0; i < 2; ++i) {
      if (!is_mask(model(), info_.inputs[i], source_.options)) continue;
      Range own = terms[i];
      if (masks(own)) own.lo = own.hi - (scores.hi - scores.lo) - below;
      if (is_subtracted(i)) own = negated(own);
      const int32_t slot = map_.input_slot(node_, i);
      const Range held = range_of(map_.slots.config(slot));  // other sums may need more of it
      ITG_TRY(set_range(slot, {own.lo < held.lo ? own.lo : held.lo, own.hi > held.hi ? own.hi : held.hi}));
    }
    return set_range(info_.outputs[0], {scores.lo + unmasked - below, scores.hi + unmasked});
  }

 private:
  const Model& model() const { return source_.fp32.model; }
  bool is_subtracted(size_t input) const { return info_.op == Op::kSub && input == 1; }

  // The range that an operand adds: lo <= 0 <= hi.
  Range term(size_t input) const {
    const int32_t tensor = info_.inputs[input];
    const int32_t observer = source_.observing.observer_of[static_cast<size_t>(tensor)];
    Range range = range_of(map_.slots.config(map_.input_slot(node_, input)));
    if (is_mask(model(), tensor, source_.options)) {  // its slot does not say it
      if (model().tensor(tensor).is_constant())
        range = range_of_constant(model().tensor(tensor));
      else if (observer >= 0)
        range = seen_range(source_.seen.observers[static_cast<size_t>(observer)]);
    }
    return is_subtracted(input) ? negated(range) : range;
  }

  // Known parameters stay as they are.
  Error set_range(int32_t slot, Range range) {
    const int32_t root = map_.slots.root(slot);
    const QuantConfig& config = map_.slots.own(root);
    if (config.state != QuantState::kActivated || facts_.known_at(root) != nullptr) return kNoError;
    range = {range.lo < 0.0 ? range.lo : 0.0, range.hi > 0.0 ? range.hi : 0.0};
    const Error error = map_.slots.set_params(root, params_of(range, config));
    return error.ok() ? error : at_slot(model(), map_, root, error);
  }

  const ParamSource& source_;
  const SlotFacts& facts_;
  SlotMap& map_;
  int32_t node_;
  NodeInfo info_;
};

}  // namespace

Error set_score_ranges(const ParamSource& source, const SlotFacts& facts, SlotMap& map) {
  const Model& model = source.fp32.model;
  for (const bool clears : {true, false})
    for (int32_t n = 0; n < model.node_count(); ++n) {
      if (!adds_to_scores(model, n) || !becomes_int8(model, n, source.options)) continue;
      ScoreSum sum(source, facts, map, n);
      ITG_TRY(clears ? sum.clear_masks() : sum.set());
    }
  return kNoError;
}

namespace {

// The parameters that the operator fixes for 8 bits, over the same range for any number of them.
QuantParams fixed_params(const QuantRule& rule, const QuantConfig& config, Compat compat) {
  const QuantParams fixed{rule.fixed_scale, rule.fixed_zero_point, config.lo, config.hi};
  if (compat == Compat::kTengine || config.has(policy::kExponential)) {
    const auto hi = static_cast<double>(fixed.scale) * (128 - fixed.zero_point);
    return params_of({fixed.zero_point == -128 ? 0.0 : -hi, hi}, config);
  }
  if (config.lo == -128 && config.hi == 127) return fixed;
  if (config.bits > 8 && config.has(policy::kSymmetric))
    return {
        fixed.scale * static_cast<float>(128 - fixed.zero_point) / static_cast<float>(int64_t{config.hi} + 1),
        0, config.lo, config.hi};
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

  // Such operators give their values any scale. It grows for what a Pad writes beside them. It shrinks where what was seen, with the
  // room of codes of 16 bits, stays below half of the bound: an attention over 300 places has three codes of the fixed scale. Not as
  // other tools do it, nor for accelerators (int8_answers): theirs have one scale for such an operator.
  QuantParams of_fixed(const QuantRule& rule, int32_t slot) const {
    const QuantConfig& config = map.slots.own(slot);
    const QuantParams fixed = fixed_params(rule, config, source.options.compat);
    const auto end = [&fixed](int32_t code) {
      return static_cast<double>(fixed.scale) * (static_cast<double>(code) - fixed.zero_point);
    };
    const Range own{end(fixed.lo), end(fixed.hi)};
    Range range = facts.with_fills(slot, own);
    const int32_t tensor = map.tensor_of[static_cast<size_t>(slot)];
    const int32_t observer = source.observing.observer_of[static_cast<size_t>(tensor)];
    const bool follows = source.options.compat == Compat::kNone && !source.options.int8_answers;
    if (follows && observer >= 0 && source.seen.sample_count > 0) {
      const Range seen = facts.with_fills(
          slot, wide_range(source.seen.observers[static_cast<size_t>(observer)], facts.bounds(tensor)));
      if (2.0 * (seen.hi > -seen.lo ? seen.hi : -seen.lo) < own.hi) range = seen;
    }
    if (range.lo == own.lo && range.hi == own.hi) return fixed;
    return params_of(range, config, facts.is_non_negative(tensor) && range.lo >= 0.0);
  }

  // Scale 0: there is nothing to choose it from.
  QuantParams of_root(int32_t slot) const {
    const QuantConfig& config = map.slots.own(slot);
    const int32_t tensor = map.tensor_of[static_cast<size_t>(slot)];
    const bool non_negative = facts.is_non_negative(tensor);
    const TensorInfo info = source.fp32.model.tensor(tensor);
    if (const KnownParams* const known = facts.known_at(slot))
      return {known->scale, known->zero_point, config.lo, config.hi};
    if (info.is_constant()) return params_of(range_of_constant(info), config, non_negative);
    if (const QuantRule* const rule = facts.fixing_rule(tensor)) return of_fixed(*rule, slot);
    Range range;
    if (!ranges.find(tensor, config, range)) return QuantParams();
    range = facts.with_fills(slot, range);
    return params_of(range, config, non_negative && range.lo >= 0.0);
  }
};

}  // namespace

bool looks_behind(const Model& model, const CalibratorOptions& options) {
  if (options.method != RangeMethod::kAuto) return false;
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
