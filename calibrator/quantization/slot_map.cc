#include "calibrator/quantization/slot_map.h"

#include "calibrator/quantization/int8_nodes.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

// The config that a slot starts from, as the options have it.
struct Place {
  int32_t node = -1;  // -1: the caller writes a model input, or nobody a constant
  SlotRole role = SlotRole::kOutput;
  int32_t input = -1;  // which, for kInput
};

// Who looks at a tensor.
struct Use {
  int32_t writer = -1;     // node
  int32_t reads = 0;       // inputs of nodes, and the model's caller
  bool has_codes = false;  // an int8 node writes it, or reads it as an operand
};

class SlotMaker {
 public:
  SlotMaker(const Model& model, const CalibratorOptions& options, RangeMethod method, Arena& arena)
      : model_(model), options_(options), method_(method), arena_(arena) {}

  Result<SlotMap> make() {
    const size_t count = slot_count(model_);
    map_.first_input_slot = arena_.make<int32_t>(static_cast<size_t>(model_.node_count()));
    map_.tensor_of = arena_.make<int32_t>(count);
    map_.slots = JointSlots(static_cast<int32_t>(count), arena_);
    uses_ = arena_.make<Use>(static_cast<size_t>(model_.tensor_count()));
    if (arena_.exhausted()) return Error{Status::kOutOfMemory};
    number();
    find_uses();
    for (int32_t t = 0; t < model_.tensor_count(); ++t) ITG_TRY(set_up_tensor(t));
    for (int32_t n = 0; n < model_.node_count(); ++n) ITG_TRY(set_up_inputs(n));
    for (int32_t n = 0; n < model_.node_count(); ++n) ITG_TRY(join_node(n));
    for (int32_t i = 0; options_.states_of != nullptr && i < options_.states_of->state_count(); ++i) {
      const StateInfo state = options_.states_of->state(i);
      if (is_in_codes(map_, state)) ITG_TRY(join(state.input, state.output));
    }
    return map_;
  }

 private:
  void number() {
    for (int32_t t = 0; t < model_.tensor_count(); ++t) map_.tensor_of[static_cast<size_t>(t)] = t;
    int32_t slot = model_.tensor_count();
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      map_.first_input_slot[static_cast<size_t>(n)] = slot;
      for (const int32_t input : model_.node_inputs(n)) map_.tensor_of[static_cast<size_t>(slot++)] = input;
    }
  }

  void find_uses() {
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      const QuantRule* const rule = is_int8(n) ? rule_of(n) : nullptr;
      const bool writes_codes = rule != nullptr && answer_op(model_, n, options_) == Op::kNone;
      for (size_t i = 0; i < node.inputs.size; ++i) {
        if (node.inputs[i] < 0) continue;
        Use& use = use_of(node.inputs[i]);
        ++use.reads;
        use.has_codes = use.has_codes || (rule != nullptr && rule->is_operand(i));
      }
      for (const int32_t output : node.outputs) {
        use_of(output).writer = n;
        use_of(output).has_codes = use_of(output).has_codes || writes_codes;
      }
    }
    for (const int32_t output : model_.outputs()) ++use_of(output).reads;
  }

  const QuantRule* rule_of(int32_t node) const {
    const OpDef* const def = find_op(float_ops(), model_, model_.node(node));
    return def == nullptr ? nullptr : &def->quant;
  }
  bool is_int8(int32_t node) const { return becomes_int8(model_, node, options_); }
  static bool is_weight(const QuantRule& rule, size_t i) {
    return static_cast<int8_t>(i) == rule.weight_input;
  }
  static bool is_bias(const QuantRule& rule, size_t i) {
    return rule.weight_input >= 0 && static_cast<int8_t>(i) == rule.bias_input;
  }

  // ---- configs

  QuantConfig default_config(SlotRole role) const {
    const bool tengine = options_.compat == Compat::kTengine;
    QuantConfig config;
    config.observer = method_;
    config.parameter = role == SlotRole::kWeights;
    if (config.parameter) {
      config.policy = policy::kPerChannel | policy::kLinear | policy::kSymmetric;
      config.rounding = tengine ? Rounding::kHalfFarFromZero : Rounding::kHalfEven;
    } else {
      const bool symmetric = options_.symmetric || tengine;
      config.policy = static_cast<QuantPolicy>(policy::kPerTensor | policy::kLinear |
                                               (symmetric ? policy::kSymmetric : policy::kAsymmetric));
    }
    if (options_.power_of_two) config.policy |= policy::kPowerOfTwo;
    return config;
  }

  Error set_config(int32_t slot, const Place& place) {
    QuantConfig config = default_config(place.role);
    const int32_t known = known_bits(slot, place);
    int32_t bits = known != 0 ? known : needs_wide(slot, place) ? kWideBits : 8;
    if (place.role == SlotRole::kWeights) bits = options_.weight_bits;
    bool asks_policy = false;
    for (const SlotSetting& setting : options_.slots) {
      if (!applies(setting, place.node, place.role, place.input)) continue;
      bits = setting.bits > 0 ? setting.bits : bits;
      config.rounding = setting.rounding >= 0 ? static_cast<Rounding>(setting.rounding) : config.rounding;
      config.policy = setting.policy != 0 ? setting.policy : config.policy;
      asks_policy = asks_policy || setting.policy != 0;
    }
    ITG_TRY(set_bits(config, bits));
    const bool wide = bits > 8 && place.role != SlotRole::kWeights;
    // Kernels of 16 bits compute symmetric codes.
    if (wide && !asks_policy) {
      config.policy &= static_cast<QuantPolicy>(~policy::kAsymmetric);
      config.policy |= policy::kSymmetric;
      config.lo = -config.hi;
    }
    // Products of weights are summed in pairs, and Tengine's codes are symmetric throughout: no lowest code.
    const bool even = place.role == SlotRole::kWeights && config.has(policy::kSymmetric);
    if (even || options_.compat == Compat::kTengine) config.lo = -config.hi;
    ITG_TRY(set_limits(slot, place, config));
    // Another tool may have used the lowest code.
    if (even && config.lo != -config.hi - 1) config.lo = -config.hi;
    return map_.slots.configure(slot, config);
  }

  // Whether 8 bits are too few for a tensor, if nothing is said of it.
  bool needs_wide(int32_t slot, const Place& place) const {
    if (place.role != SlotRole::kOutput) return false;
    if (place.node >= 0 && gives_wide_answer(model_, place.node, options_)) return true;
    if (place.node >= 0 && adds_to_scores(model_, place.node)) return true;
    return is_mask(model_, slot, options_);
  }

  // Known parameters first, then the caller's own settings.
  Error set_limits(int32_t slot, const Place& place, QuantConfig& config) {
    const auto set = [&config](int32_t lo, int32_t hi) {
      if (lo == 0 && hi == 0) return;
      config.lo = lo;
      config.hi = hi;
    };
    for (const KnownParams& known : options_.known)
      if (is_about(known, slot, place)) set(known.lo, known.hi);
    for (const SlotRange& range : options_.ranges) {
      const SlotSetting same_slots{range.node, range.role, range.input};
      if (!applies(same_slots, place.node, place.role, place.input)) continue;
      set(range.lo, range.hi);
      if (range.observer < 0 || config.parameter) continue;
      config.observer = static_cast<RangeMethod>(range.observer);
      config.own_observer = true;
    }
    const int64_t most = config.lo + (int64_t{1} << config.bits) - 1;
    if (config.hi <= config.lo || config.hi > most || (config.has(policy::kSymmetric) && config.hi < 1))
      return at_slot(model_, map_, slot, {Status::kBadOption, -1, -1, config.hi, most});
    // A zero point moves with its codes: those of 0 to 255 are int8's, less 128.
    const bool moves = config.has(policy::kLinear | policy::kAsymmetric) && !config.parameter;
    if (moves && most < config.lo + 256 && (config.lo < -128 || config.hi > 127)) {
      config.hi -= config.lo + 128;
      config.lo = -128;
    }
    return kNoError;
  }

  int32_t known_bits(int32_t slot, const Place& place) const {
    if (place.role != SlotRole::kInput) return intaglio::known_bits(options_, slot, -1, -1);
    const int32_t tensor = model_.node_inputs(place.node)[static_cast<size_t>(place.input)];
    return intaglio::known_bits(options_, tensor, place.node, place.input);
  }

  bool is_about(const KnownParams& known, int32_t slot, const Place& place) const {
    if (place.role == SlotRole::kWeights)
      return model_.node_inputs(place.node)[static_cast<size_t>(place.input)] == known.tensor;
    if (known.node < 0) return known.tensor == slot;
    return place.role == SlotRole::kInput && known.node == place.node && known.input == place.input;
  }

  // ---- states

  Error set_up_tensor(int32_t tensor) {
    const Use& use = use_of(tensor);
    if (model_.tensor(tensor).dtype != DType::kF32) return map_.slots.set_state(tensor, QuantState::kSoi);
    const bool unread = use.reads == 0 && !model_.tensor(tensor).is_constant();
    if (!use.has_codes && !unread) return map_.slots.set_state(tensor, QuantState::kFp32);
    return set_config(tensor, {use.writer, SlotRole::kOutput, -1});
  }

  Error set_up_inputs(int32_t n) {
    const NodeInfo node = model_.node(n);
    const QuantRule* const rule = rule_of(n);
    const bool in_float = rule == nullptr || !is_int8(n);
    for (size_t i = 0; i < node.inputs.size; ++i) {
      const int32_t slot = map_.input_slot(n, i);
      if (!in_float && is_weight(*rule, i)) {
        ITG_TRY(set_config(slot, {n, SlotRole::kWeights, static_cast<int32_t>(i)}));
      } else if (!in_float && is_bias(*rule, i) && node.inputs[i] >= 0) {
        ITG_TRY(set_up_bias(slot));
      } else if (!in_float && rule->is_operand(i) && node.inputs[i] >= 0) {
        ITG_TRY(set_config(slot, {n, SlotRole::kInput, static_cast<int32_t>(i)}));
      } else {
        const bool index = rule != nullptr && static_cast<int8_t>(i) == rule->index_input;
        ITG_TRY(map_.slots.set_state(slot, index ? QuantState::kSoi : QuantState::kFp32));
      }
    }
    return kNoError;
  }

  Error set_up_bias(int32_t slot) {
    QuantConfig config;
    config.parameter = true;
    config.policy = policy::kPerChannel | policy::kLinear | policy::kSymmetric;
    ITG_TRY(set_bits(config, 32));
    ITG_TRY(map_.slots.configure(slot, config));
    return map_.slots.set_state(slot, QuantState::kPassiveInit);
  }

  // ---- joins

  Error join(int32_t child, int32_t master) {
    const Error error = map_.slots.dominate(child, master);
    return error.ok() ? error : at_slot(model_, map_, child, error);
  }

  Error join_node(int32_t n) {
    const QuantRule* const rule = rule_of(n);
    if (rule == nullptr || !is_int8(n)) return kNoError;
    const NodeInfo node = model_.node(n);
    for (size_t i = 0; i < node.inputs.size; ++i)
      if (node.inputs[i] >= 0 && rule->is_operand(i) && (rule->inputs_as_output || !has_own_params(n, i)))
        ITG_TRY(join_edge(n, i));
    const int32_t input = node.inputs[0], output = node.outputs[0];
    const bool inward = options_.compat == Compat::kTengine && is_alone(input);
    if (rule->output == OutputRule::kSameAsInput) {
      const int32_t read = map_.input_slot(n, 0);
      ITG_TRY(inward ? join(read, output) : join(output, read));
    } else if (rule->clips && is_alone(input) && (inward || is_layer(input))) {
      ITG_TRY(join(map_.input_slot(n, 0), output));
    }
    if (rule->inputs_as_output && options_.compat == Compat::kPpq)
      for (size_t i = 0; i < node.inputs.size; ++i)
        if (rule->is_operand(i)) ITG_TRY(join(map_.input_slot(n, i), output));
    return kNoError;
  }

  Error join_edge(int32_t n, size_t input) {
    JointSlots& slots = map_.slots;
    const int32_t reader = map_.input_slot(n, input), tensor = model_.node_inputs(n)[input];
    // A scale a channel and one for all cannot be one config, whatever becomes of it.
    if (slots.own(reader).has(policy::kPerChannel) != slots.config(tensor).has(policy::kPerChannel))
      return kNoError;
    const QuantConfig &reads = slots.own(reader), &written = slots.config(tensor);
    const bool holds = reads.lo <= written.lo && reads.hi >= written.hi;
    if (reads.bits >= written.bits && (holds || reads.bits > 8)) return join(reader, tensor);
    // Codes of 16 bits were asked for: who reads them takes them, unless fewer were asked for there.
    bool asks = false;
    for (const SlotSetting& setting : options_.slots)
      asks = asks || (setting.bits > 0 && applies(setting, n, SlotRole::kInput, static_cast<int32_t>(input)));
    if (slots.config(tensor).bits > 8 && !asks) return join(reader, tensor);
    if (use_of(tensor).reads == 1) return join(tensor, reader);
    return kNoError;
  }
  bool has_own_params(int32_t node, size_t input) const {
    for (const KnownParams& known : options_.known)
      if (known.node == node && known.input == static_cast<int32_t>(input)) return true;
    return false;
  }

  // One node reads it, and the caller does not.
  bool is_alone(int32_t tensor) { return use_of(tensor).reads == 1 && use_of(tensor).writer >= 0; }
  bool is_layer(int32_t tensor) {
    const int32_t writer = use_of(tensor).writer;
    const QuantRule* const rule = writer < 0 || !is_int8(writer) ? nullptr : rule_of(writer);
    return rule != nullptr && rule->weight_input >= 0;
  }
  Use& use_of(int32_t tensor) { return uses_[static_cast<size_t>(tensor)]; }

  const Model& model_;
  const CalibratorOptions& options_;
  RangeMethod method_;
  Arena& arena_;
  SlotMap map_;
  Span<Use> uses_;
};

}  // namespace

Result<SlotMap> make_slots(const Model& model, const CalibratorOptions& options, RangeMethod method,
                           Arena& arena) {
  return SlotMaker(model, options, method, arena).make();
}

int32_t state_of(const CalibratorOptions& options, int32_t tensor, bool is_next) {
  for (int32_t i = 0; options.states_of != nullptr && i < options.states_of->state_count(); ++i) {
    const StateInfo state = options.states_of->state(i);
    if ((is_next ? state.output : state.input) == tensor) return i;
  }
  return -1;
}

bool is_in_codes(const SlotMap& map, const StateInfo& state) {
  const auto has_codes = [&map](int32_t tensor) {
    const QuantState held = map.slots.config(tensor).state;
    return held != QuantState::kFp32 && held != QuantState::kSoi;
  };
  return has_codes(state.input) && has_codes(state.output);
}

size_t slot_count(const Model& model) {
  auto count = static_cast<size_t>(model.tensor_count());
  for (int32_t n = 0; n < model.node_count(); ++n) count += model.node_inputs(n).size;
  return count;
}

size_t slot_bytes(const Model& model) {
  constexpr size_t kSlack = 8 * 16;  // alignment of each list
  const auto tensors = static_cast<size_t>(model.tensor_count()),
             nodes = static_cast<size_t>(model.node_count());
  return slot_count(model) * (sizeof(QuantConfig) + sizeof(int32_t) + sizeof(QuantParams)) +
         nodes * sizeof(int32_t) + tensors * (sizeof(Use) + sizeof(int32_t) + 3 * sizeof(bool)) +
         slot_count(model) * 2 * sizeof(int32_t) + kSlack;
}

size_t most_observed(const Model& model, const CalibratorOptions& options) {
  // Settings and known parameters may give a reader a range of its own.
  const bool shares = !sets_slots(options);
  const auto rule_of = [&model](int32_t n) -> const QuantRule& {
    return find_op(float_ops(), model, model.node(n))->quant;
  };
  size_t count = 0;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (info.is_constant() || info.dtype != DType::kF32) continue;
    const int32_t writer = writer_of(model, t);
    bool has_codes = writer >= 0 && writes_codes(model, writer, options), is_read = false;
    if (shares && has_codes && rule_of(writer).output == OutputRule::kSameAsInput) continue;
    for (int32_t n = writer + 1; n < model.node_count() && !has_codes; ++n) {
      const Span<const int32_t> inputs = model.node_inputs(n);
      for (size_t i = 0; i < inputs.size; ++i) {
        if (inputs[i] != t) continue;
        is_read = true;
        has_codes = has_codes || (becomes_int8(model, n, options) && rule_of(n).is_operand(i));
      }
    }
    for (const int32_t output : model.outputs()) is_read = is_read || output == t;
    count += has_codes || !is_read ? 1 : 0;
  }
  return count;
}

Error at_slot(const Model& model, const SlotMap& map, int32_t slot, Error error) {
  error.tensor = map.tensor_of[static_cast<size_t>(slot)];
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const int32_t first = map.first_input_slot[static_cast<size_t>(n)];
    const bool reads = slot >= first && slot < first + static_cast<int32_t>(node.inputs.size);
    bool writes = false;
    if (slot < model.tensor_count())
      for (const int32_t output : node.outputs) writes = writes || output == slot;
    if (reads || writes) error.node = n;
  }
  return error;
}

}  // namespace intaglio
