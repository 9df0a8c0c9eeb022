#include "calibrator/ranges/slot_params.h"

#include <limits>

#include "calibrator/quantization/signs.h"
#include "calibrator/quantization/sum_scales.h"
#include "calibrator/ranges/auto_range.h"
#include "calibrator/ranges/auto_rules.h"
#include "calibrator/ranges/range_models.h"
#include "calibrator/ranges/ranges.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class SlotParams {
 public:
  SlotParams(const ParamSource& source, int32_t half, Slots& slots, Arena& arena)
      : source_(source),
        half_(half),
        behind_(slots.behind),
        model_(source.fp32.model),
        map_(slots.map),
        chosen_(arena.make<QuantParams>(static_cast<size_t>(slots.map.slots.count()))),
        writers_(arena.make<int32_t>(static_cast<size_t>(model_.tensor_count()))),
        known_(arena.make<int32_t>(chosen_.size)),
        readers_(arena.make<int32_t>(chosen_.size)),
        in_head_(arena.make<bool>(static_cast<size_t>(model_.tensor_count()))),
        non_negative_(non_negative_tensors(model_, arena)) {
    for (int32_t& writer : writers_) writer = -1;
    for (int32_t n = 0; n < model_.node_count(); ++n)
      for (const int32_t output : model_.node(n).outputs)
        if (!writers_.empty()) writers_[static_cast<size_t>(output)] = n;
    if (!in_head_.empty()) find_head(model_, in_head_);
    find_known();
    find_readers();
  }

  Error choose() {
    choose_roots();
    for (int32_t slot = 0; slot < map_.slots.count(); ++slot)
      if (is_root(slot)) {
        const QuantParams& params = chosen_[static_cast<size_t>(slot)];
        if (params.scale == 0.0f) return at_slot(model_, map_, slot, {Status::kQuantizationMissing});
        ITG_TRY(write(slot, params));
      }
    // Backwards: what a Concat takes over is what the Concats behind it have settled.
    for (int32_t n = model_.node_count() - 1; n >= 0; --n) ITG_TRY(share_with_inputs(n));
    return kNoError;
  }

 private:
  bool has_samples() const { return source_.seen.sample_count != 0; }

  // Of each root: which of the known parameters hold for it; -1: none.
  void find_known() {
    for (int32_t& known : known_) known = -1;
    const Span<const KnownParams> list = source_.options.known;
    for (size_t i = 0; i < list.size && !known_.empty(); ++i) {
      if (model_.tensor(list[i].tensor).is_constant()) continue;
      const int32_t root = map_.slots.root(slot_of(map_, list[i]));
      if (list[i].node >= 0 && root == map_.slots.root(list[i].tensor))
        continue;  // it reads the tensor's own codes
      int32_t& known = known_[static_cast<size_t>(root)];
      if (known < 0 || list[i].tensor == map_.tensor_of[static_cast<size_t>(root)])
        known = static_cast<int32_t>(i);
    }
  }
  const KnownParams* known_at(int32_t slot) const {
    const int32_t known = known_[static_cast<size_t>(map_.slots.root(slot))];
    return known < 0 ? nullptr : &source_.options.known[static_cast<size_t>(known)];
  }

  // Of each root: the only node that reads any of its tensors; kNone, kSeveral.
  void find_readers() {
    for (int32_t& reader : readers_) reader = kNone;
    const auto add = [this](int32_t tensor, int32_t node) {
      if (tensor < 0 || model_.tensor(tensor).is_constant() || readers_.empty()) return;
      int32_t& reader = readers_[static_cast<size_t>(map_.slots.root(tensor))];
      reader = reader == kNone ? node : kSeveral;
    };
    for (int32_t n = 0; n < model_.node_count(); ++n)
      for (const int32_t input : model_.node(n).inputs) add(input, n);
    for (const int32_t output : model_.outputs()) add(output, kSeveral);
  }

  bool is_root(int32_t slot) const {
    const QuantConfig& config = map_.slots.own(slot);
    return config.state == QuantState::kInitial && !config.parameter;
  }

  // Every lane with its share of the roots, and a copy of this.
  void choose_roots() const {
    const int32_t lanes = source_.fp32.lane_count;
    parallel_for(source_.fp32.executor, lanes, [&](int32_t lane) {
      SlotParams own = *this;
      own.lane_ = lane;
      for (int32_t slot = lane; slot < map_.slots.count(); slot += lanes)
        if (is_root(slot)) chosen_[static_cast<size_t>(slot)] = own.params_of_root(slot);
    });
  }

  Error write(int32_t slot, const QuantParams& params) {
    const Error error = map_.slots.set_params(slot, params);
    return error.ok() ? error : at_slot(model_, map_, slot, error);
  }

  const QuantRule* rule_of(int32_t node) const {
    const OpDef* const def = node < 0 ? nullptr : find_op(float_ops(), model_, model_.node(node));
    return def == nullptr ? nullptr : &def->quant;
  }

  // ---- sharing after the ranges are known

  Error share_with_inputs(int32_t n) {
    const QuantRule* const rule = rule_of(n);
    if (rule == nullptr || map_.slots.config(model_.node(n).outputs[0]).state != QuantState::kActivated)
      return kNoError;
    if (rule->inputs_as_output && source_.options.compat == Compat::kNone) return share_concat(n);
    if (rule->sums && source_.options.compat == Compat::kPpq) return align_operands(n);
    return kNoError;
  }

  // A Concat's inputs take its scale where that costs them less than 1 dB; the others are requantized when
  // baked.
  Error share_concat(int32_t n) {
    constexpr float kOneDecibel = 1.122f;
    const NodeInfo node = model_.node(n);
    const QuantConfig whole = map_.slots.config(node.outputs[0]);
    for (const int32_t input : node.inputs) {
      if (input < 0 || model_.tensor(input).is_constant()) continue;
      if (known_at(input) != nullptr || known_at(node.outputs[0]) != nullptr) continue;
      const QuantConfig own = map_.slots.config(input);
      const bool fits =
          own.bits == whole.bits && own.scale <= whole.scale && whole.scale < own.scale * kOneDecibel;
      if (fits && covers(whole, own) && is_free(map_.slots.root(input)))
        ITG_TRY(map_.slots.dominate(input, node.outputs[0]));
    }
    return kNoError;
  }

  static Range range_of(const QuantConfig& config) {
    const auto end = [&config](int32_t code) {
      return static_cast<double>(config.scale) * (static_cast<double>(code) - config.offset);
    };
    return {end(config.lo), end(config.hi)};
  }

  // Whether every value that `inner` has a code for lies within `outer`, up to one step.
  static bool covers(const QuantConfig& outer, const QuantConfig& inner) {
    const Range o = range_of(outer), i = range_of(inner);
    return o.lo <= i.lo + static_cast<double>(outer.scale) && o.hi >= i.hi - static_cast<double>(outer.scale);
  }

  // Observed: neither fixed by its operator nor by its pixels.
  bool is_free(int32_t root) const {
    const QuantRule* const rule =
        rule_of(writers_[static_cast<size_t>(map_.tensor_of[static_cast<size_t>(root)])]);
    return rule != nullptr && rule->output == OutputRule::kObserved;
  }

  // All operands over the union of their ranges.
  Error align_operands(int32_t n) {
    const NodeInfo node = model_.node(n);
    const int32_t first = map_.slots.root(map_.input_slot(n, 0));
    for (size_t i = 0; i < node.inputs.size; ++i)
      if (known_at(map_.input_slot(n, i)) != nullptr) return kNoError;
    Range all = range_of(map_.slots.own(first));
    for (size_t i = 1; i < node.inputs.size; ++i) {
      const int32_t slot = map_.input_slot(n, i);
      const Range range = range_of(map_.slots.config(slot));
      all = {range.lo < all.lo ? range.lo : all.lo, range.hi > all.hi ? range.hi : all.hi};
      ITG_TRY(map_.slots.dominate(slot, first));
    }
    return write(first, params_of(all, map_.slots.own(first), all.lo >= 0.0));
  }

  // ---- one root

  // Tengine's zero points are 0 throughout.
  bool is_non_negative(size_t tensor) const {
    return non_negative_[tensor] && source_.options.compat != Compat::kTengine;
  }

  QuantParams params_of_root(int32_t slot) const {
    const QuantConfig& config = map_.slots.own(slot);
    const int32_t tensor = map_.tensor_of[static_cast<size_t>(slot)];
    const bool non_negative = is_non_negative(static_cast<size_t>(tensor));
    const TensorInfo info = model_.tensor(tensor);
    if (const KnownParams* const known = known_at(slot))
      return {known->scale, known->zero_point, config.lo, config.hi};
    if (info.is_constant()) return params_of(range_of_constant(info), config, non_negative);
    if (const QuantRule* const rule = fixing_rule(tensor)) return fixed_params(*rule, config);
    Range range;
    if (!range_of_input(tensor, config, range)) {
      if (!has_samples()) return QuantParams();
      range = range_of_seen(tensor, config);
    }
    return params_of(range, config, non_negative && range.lo >= 0.0);
  }

  // Of an operator whose output has the same parameters always; else nullptr.
  const QuantRule* fixing_rule(int32_t tensor) const {
    const QuantRule* const rule = rule_of(writers_[static_cast<size_t>(tensor)]);
    return rule != nullptr && rule->output == OutputRule::kFixed ? rule : nullptr;
  }

  Bounds bounds_of(int32_t tensor) const {
    const auto t = static_cast<size_t>(tensor);
    Bounds bounds{is_non_negative(t) ? 0.0 : -kInfinity, kInfinity};
    if (rule_of(writers_[t]) != nullptr) {
      const auto clamp = model_.node(writers_[t]).options.value<Clamp>();
      const auto lo = static_cast<double>(clamp.min), hi = static_cast<double>(clamp.max);
      if (lo < 0.0 || source_.options.compat != Compat::kTengine) bounds.lo = lo > bounds.lo ? lo : bounds.lo;
      bounds.hi = hi;
    }
    return bounds;
  }

  // ---- ranges of what has been seen

  const TensorObserver& observer_of(int32_t tensor) const {
    return source_.seen
        .observers[static_cast<size_t>(source_.observing.observer_of[static_cast<size_t>(tensor)])];
  }

  // What has been seen of a tensor, its bounds, and the function of one variable that alone reads it, if there is one.
  struct Seen {
    const TensorObserver& observer;
    Bounds bounds;
    const FunctionBehind* behind = nullptr;
  };

  int32_t reader_of(int32_t tensor) const { return readers_[static_cast<size_t>(map_.slots.root(tensor))]; }
  bool is_function(int32_t node) const {
    const QuantRule* const rule = rule_of(node);
    return rule != nullptr && rule->unary != nullptr;
  }

  bool is_auto(const QuantConfig& config) const {
    return source_.options.method == RangeMethod::kAuto && !config.own_observer;
  }

  // A method that the caller asks for by name looks at the tensor alone. With a function behind a tensor the observer is
  // the lane's spare one.
  Seen seen_of(int32_t tensor, const QuantConfig& config) const {
    const TensorObserver& all = observer_of(tensor);
    const Bounds bounds = bounds_of(tensor);
    const int32_t reader = reader_of(tensor);
    if (!is_auto(config) || !is_function(reader)) return {all, bounds};
    const NodeInfo node = model_.node(reader);
    // Of a function of a function, 1 / sigmoid(x), the first one's slope says little.
    if (is_function(reader_of(node.outputs[0]))) return {all, bounds};
    FunctionBehind& behind = behind_[static_cast<size_t>(lane_)];
    behind.function = rule_of(reader)->unary;
    behind.options = node.options;
    if (!look_behind(all, behind)) return {all, bounds};
    const Bounds told = told_apart_within(bounds, told_apart(all, behind));
    TensorObserver& spare = source_.observing.spare[static_cast<size_t>(lane_)];
    spare = all;
    for (const int32_t half : {0, 1}) {
      const Range kept =
          within({static_cast<double>(all.min[half]), static_cast<double>(all.max[half])}, told);
      spare.min[half] = static_cast<float>(kept.lo);
      spare.max[half] = static_cast<float>(kept.hi);
    }
    return {spare, told, &behind};
  }
  static Bounds told_apart_within(const Bounds& bounds, const Range& told) {
    return {told.lo > bounds.lo ? told.lo : bounds.lo, told.hi < bounds.hi ? told.hi : bounds.hi};
  }

  Range range_of_seen(int32_t tensor, const QuantConfig& config) const {
    if (config.bits > 8 && is_auto(config)) return wide_range(observer_of(tensor), bounds_of(tensor));
    const Seen known = seen_of(tensor, config);
    const bool is_input = writers_[static_cast<size_t>(tensor)] < 0;
    const bool in_head = in_head_[static_cast<size_t>(tensor)];
    // With more than a few samples the head's own room is enough.
    const uint32_t probed = in_head ? kAutoRules.probes.full_samples : kAutoRules.probes.samples;
    const bool is_probed =
        config.observer == RangeMethod::kAuto && source_.seen.sample_count < probed && !is_input;
    Range range;
    if (is_auto(config) && !is_input && half_ == kBothHalves && in_head)
      range = vector_range(known.observer, known.bounds);
    else
      range = observed_range(known, config);
    return is_probed ? with_probes(range, observer_of(tensor), known.bounds) : range;
  }

  // Of an input whose values come from codes. Pixels by the model's recipe have their own range whatever the
  // method and the config: it is known without samples.
  bool range_of_input(int32_t tensor, const QuantConfig& config, Range& range) const {
    const int32_t input = input_at(tensor);
    if (input < 0) return false;
    const InputValues& values = source_.seen.inputs[static_cast<size_t>(input)];
    if (range_of_pixels(model_, input, values, range)) return true;
    if (!is_auto(config) || config.bits != 8 || config.has(policy::kSymmetric) ||
        config.has(policy::kPowerOfTwo))
      return false;
    const double step = code_step(values);
    return step > 0.0 && range_of_codes(step, seen_range(observer_of(tensor)), range);
  }

  // Which of the model's inputs it is; -1: none.
  int32_t input_at(int32_t tensor) const {
    for (size_t i = 0; i < model_.inputs().size; ++i)
      if (model_.inputs()[i] == tensor) return static_cast<int32_t>(i);
    return -1;
  }

  double percentile_of(const TensorObserver& seen) const {
    return source_.options.method == RangeMethod::kAuto ? tried_percentile(seen) : source_.options.percentile;
  }

  Range observed_range(const Seen& seen, const QuantConfig& config) const {
    const double percentile = percentile_of(seen.observer);
    if (half_ == kBothHalves)
      return choose_range(seen.observer, seen.bounds, config, percentile, 0.0, seen.behind);
    // The factor takes two halves: it is that of all samples.
    const double room = config.observer == RangeMethod::kAuto
                            ? room_of(seen.observer, seen.bounds, config, seen.behind)
                            : 0.0;
    TensorObserver& part = source_.observing.spare[static_cast<size_t>(lane_)];
    if (&part != &seen.observer) part = seen.observer;
    const int32_t other = 1 - half_;
    part.min[other] = part.max[other] = 0.0f;
    part.samples[other] = 0;
    memset(&part.halves[other], 0, sizeof part.halves[other]);
    return choose_range(part, seen.bounds, config, percentile, room, seen.behind);
  }

  static Range range_of_constant(const TensorInfo& info) {
    const auto* values = reinterpret_cast<const float*>(info.constant.data);
    Range range;
    for (size_t i = 0; i < info.constant.size / sizeof(float); ++i) {
      const auto v = static_cast<double>(values[i]);
      range.lo = v < range.lo ? v : range.lo;
      range.hi = v > range.hi ? v : range.hi;
    }
    return range;
  }

  // What the operator fixes for 8 bits, over the same range for any number of them.
  QuantParams fixed_params(const QuantRule& rule, const QuantConfig& config) const {
    const QuantParams fixed{rule.fixed_scale, rule.fixed_zero_point, config.lo, config.hi};
    if (source_.options.compat == Compat::kTengine || config.has(policy::kExponential)) {
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

  static constexpr int32_t kNone = -1, kSeveral = -2;

  const ParamSource& source_;
  int32_t half_;
  Span<FunctionBehind> behind_;
  const Model& model_;
  SlotMap& map_;
  int32_t lane_ = 0;          // at work
  Span<QuantParams> chosen_;  // of each slot
  Span<int32_t> writers_;     // node of each tensor, or -1
  Span<int32_t> known_;       // see find_known()
  Span<int32_t> readers_;     // see find_readers()
  Span<bool> in_head_;        // of each tensor
  Span<const bool> non_negative_;
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
  const Result<SlotMap> map = make_slots(model, source.options, method, arena);
  if (!map) return map.error();
  slots.map = *map;
  SlotParams params(source, half, slots, arena);
  if (arena.exhausted()) return {Status::kOutOfMemory};
  ITG_TRY(params.choose());
  return widen_sums(model, source.options.known, slots.map);
}

}  // namespace intaglio
