#include "calibrator/recover/channels/channels.h"

#include "calibrator/quantization/int8_nodes.h"
#include "runtime/op_search.h"

namespace intaglio {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Grouping {
 public:
  Grouping(const Model& model, ChannelSets sets, Span<const bool> functions, Arena& arena)
      : model_(model),
        sets_(sets),
        functions_(functions),
        parent_(arena.make<int32_t>(static_cast<size_t>(model.tensor_count()))),
        fixed_(arena.make<bool>(static_cast<size_t>(model.tensor_count()))) {
    for (size_t t = 0; t < parent_.size; ++t) parent_[t] = static_cast<int32_t>(t);
  }

  ChannelGroups run(Arena& arena) {
    ChannelGroups groups;
    groups.root = parent_;
    groups.first = arena.make<size_t>(parent_.size);
    if (arena.exhausted()) return groups;
    for (const int32_t input : model_.inputs()) fix(input);
    for (const int32_t output : model_.outputs()) fix(output);
    for (int32_t i = 0; i < model_.state_count(); ++i) {
      fix(model_.state(i).input);
      fix(model_.state(i).output);
    }
    for (int32_t n = 0; n < model_.node_count(); ++n) look_at(n);
    if (sets_ == ChannelSets::kDepthwise) drop_other_sets(arena);
    for (size_t t = 0; t < parent_.size; ++t) {
      const int32_t root = find(static_cast<int32_t>(t));
      const bool constant = model_.tensor(static_cast<int32_t>(t)).is_constant();
      if (constant || fixed_[static_cast<size_t>(root)]) fixed_[t] = true;
    }
    for (size_t t = 0; t < parent_.size; ++t) {
      parent_[t] = fixed_[t] ? -1 : find(static_cast<int32_t>(t));
      if (parent_[t] != static_cast<int32_t>(t)) continue;
      groups.first[t] = groups.channels;
      groups.channels += static_cast<size_t>(model_.tensor(static_cast<int32_t>(t)).shape.back(0));
    }
    return groups;
  }

 private:
  bool is_function(int32_t node) const {
    return !functions_.empty() && functions_[static_cast<size_t>(node)];
  }
  int32_t find(int32_t t) const {
    while (parent_[static_cast<size_t>(t)] >= 0 && parent_[static_cast<size_t>(t)] != t)
      t = parent_[static_cast<size_t>(t)];
    return t;
  }
  void fix(int32_t tensor) { fixed_[static_cast<size_t>(find(tensor))] = true; }
  void join(int32_t a, int32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    const int32_t low = a < b ? a : b, high = a < b ? b : a;
    parent_[static_cast<size_t>(high)] = low;
    if (fixed_[static_cast<size_t>(high)]) fixed_[static_cast<size_t>(low)] = true;
  }
  void drop_other_sets(Arena& arena) {
    const Span<bool> has_reader = arena.make<bool>(parent_.size);
    if (has_reader.empty()) return;
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      const NodeInfo node = model_.node(n);
      const OpDef* const def = find_op(float_ops(), model_, node);
      if (def != nullptr && def->quant.weight_input >= 0 && is_depthwise(model_, node, def->quant))
        has_reader[static_cast<size_t>(find(node.inputs[0]))] = true;
    }
    for (int32_t n = model_.node_count() - 1; n >= 0; --n) {
      const NodeInfo node = model_.node(n);
      if (!is_function(n)) continue;
      const auto output = static_cast<size_t>(find(node.outputs[0]));
      if (has_reader[output] && !fixed_[output]) has_reader[static_cast<size_t>(find(node.inputs[0]))] = true;
    }
    for (size_t t = 0; t < parent_.size; ++t)
      if (!has_reader[static_cast<size_t>(find(static_cast<int32_t>(t)))]) fixed_[t] = true;
  }
  void fix_all(const NodeInfo& node) {
    for (const int32_t input : node.inputs)
      if (input >= 0) fix(input);
    for (const int32_t output : node.outputs) fix(output);
  }

  void look_at(int32_t n) {
    const NodeInfo node = model_.node(n);
    const OpDef* const def = find_op(float_ops(), model_, node);
    const auto clamp = node.options.value<Clamp>();
    if (def == nullptr || node.outputs.size != 1) return fix_all(node);
    const bool relu = (clamp.min == 0.0f || clamp.min == -kInfinity) && clamp.max == kInfinity;
    // Factors before a depthwise layer are chosen so that no other clamp around 0 acts at another place.
    const bool may_act = sets_ == ChannelSets::kAll || clamp.min > 0.0f || clamp.max < 0.0f;
    if (!relu && may_act) fix(node.outputs[0]);
    if (def->quant.weight_input >= 0) {
      look_at_weights(node, def->quant);
    } else if (def->quant.real_inputs >= 0) {
      look_at_factors(node, def->quant);
    } else if (is_function(n)) {
      return;  // its input and its output are sets of their own
    } else if (keeps_channels(model_, node, def->quant)) {
      for (size_t i = 0; i < node.inputs.size; ++i)
        if (node.inputs[i] >= 0 && static_cast<int8_t>(i) != def->quant.parameter_input)
          join(node.inputs[i], node.outputs[0]);
    } else {
      fix_all(node);
    }
  }

  void look_at_weights(const NodeInfo& node, const QuantRule& rule) {
    const bool reads = reads_channels(model_, node, rule);
    bool shared = false;
    for (size_t i = 1; i < node.inputs.size; ++i) {
      const int32_t input = node.inputs[i];
      if (input < 0) continue;
      const bool is_bias = static_cast<int8_t>(i) == rule.bias_input;
      shared = shared || !(is_own_constant(model_, input) || (is_bias && is_zero(model_.tensor(input))));
      if (!model_.tensor(input).is_constant()) fix(input);
    }
    if (shared || !reads) fix(node.inputs[0]);
    if (shared || (rule.weight_axis != 0 && !reads)) fix(node.outputs[0]);
  }

  // A factor and a summand of each channel make the output. Zeros may be another node's, too.
  void look_at_factors(const NodeInfo& node, const QuantRule& rule) {
    for (size_t i = 0; i < node.inputs.size; ++i) {
      const int32_t input = node.inputs[i];
      if (input < 0) continue;
      fix(input);
      const bool scales = static_cast<int8_t>(i) >= rule.real_inputs;
      if (scales && !is_own_constant(model_, input) && !is_zero(model_.tensor(input))) fix(node.outputs[0]);
    }
  }

  static bool is_zero(const TensorInfo& info) {
    for (size_t i = 0; i < info.constant.size; ++i)
      if (info.constant.data[i] != 0) return false;
    return info.is_constant();
  }

  const Model& model_;
  ChannelSets sets_;
  Span<const bool> functions_;
  Span<int32_t> parent_;
  Span<bool> fixed_;  // of a root: of its whole set
};

}  // namespace

ChannelGroups group_channels(const Model& fp32, Arena& arena, ChannelSets sets, Span<const bool> functions) {
  return Grouping(fp32, sets, functions, arena).run(arena);
}

size_t channel_group_bytes(const Model& fp32) {
  return static_cast<size_t>(fp32.tensor_count()) * (sizeof(int32_t) + 2 * sizeof(bool) + sizeof(size_t)) +
         96;
}

uint64_t most_group_channels(const Model& fp32) {
  uint64_t channels = 0;
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const NodeInfo node = fp32.node(n);
    const OpDef* const def = find_op(float_ops(), fp32, node);
    const bool begins = def != nullptr && (def->quant.weight_input >= 0 || def->quant.real_inputs >= 0 ||
                                           def->quant.table == TableRule::kUnary);
    const Shape shape = fp32.tensor(node.outputs[0]).shape;
    if (begins && shape.rank > 0) channels += static_cast<uint64_t>(shape.back(0));
  }
  return channels;
}

bool takes_factors(const Model& fp32, int32_t node, const CalibratorOptions& options) {
  const OpDef* const def = find_op(float_ops(), fp32, fp32.node(node));
  if (def == nullptr) return false;
  const QuantRule& rule = def->quant;
  return rule.table == TableRule::kUnary && rule.channels == ChannelRule::kMixes &&
         rule.output == OutputRule::kObserved && !rule.jumps && !rule.clips &&
         becomes_int8(fp32, node, options) && !is_wide(fp32, node, options);
}

bool is_depthwise(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  const Shape weights = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]).shape;
  return rule.weight_axis + 1 == weights.rank &&
         weights.back(0) == model.tensor(node.inputs[0]).shape.back(0);
}

bool reads_channels(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  const Shape weights = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]).shape;
  return is_depthwise(model, node, rule) ||
         (rule.weight_axis == 0 && node.options.value<Conv2dOptions>().groups == 1 &&
          weights.back(0) == model.tensor(node.inputs[0]).shape.back(0));
}

bool is_own_constant(const Model& model, int32_t tensor) {
  const TensorInfo info = model.tensor(tensor);
  if (!info.is_constant()) return false;
  int32_t readers = 0;
  for (int32_t n = 0; n < model.node_count(); ++n)
    for (const int32_t input : model.node_inputs(n))
      readers += input >= 0 && model.tensor(input).constant.data == info.constant.data ? 1 : 0;
  return readers == 1;
}

bool keeps_channels(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  if (rule.channels == ChannelRule::kMixes) return false;
  const Shape shape = model.tensor(node.outputs[0]).shape;
  bool keeps = node.options.value<PadOptions>().value == 0.0f;
  for (const int32_t axis : node.options.value<ReduceOptions>().axes)
    keeps = keeps && axis != model.tensor(node.inputs[0]).shape.rank - 1;
  int32_t read = 0;
  for (size_t i = 0; i < node.inputs.size; ++i) {
    const int32_t input = node.inputs[i];
    if (input < 0 || static_cast<int8_t>(i) == rule.parameter_input) continue;
    const TensorInfo info = model.tensor(input);
    ++read;
    keeps = keeps && !info.is_constant() && info.shape.rank > 0 && shape.rank > 0 &&
            info.shape.back(0) == shape.back(0) && (read == 1 || info.shape == shape);
  }
  return keeps;
}

namespace {

bool has_own_bias(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  const auto bias = static_cast<size_t>(rule.bias_input);
  return rule.bias_input >= 0 && bias < node.inputs.size && node.inputs[bias] >= 0 &&
         is_own_constant(model, node.inputs[bias]);
}

bool pads(const Window2d& window) {
  return window.pad_top != 0 || window.pad_left != 0 || window.pad_bottom != 0 || window.pad_right != 0;
}

bool has_constant_weights(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  return model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]).is_constant();
}

// A layer whose bias takes in a shift of its input.
bool takes_in(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  return has_constant_weights(model, node, rule) && has_own_bias(model, node, rule) &&
         reads_channels(model, node, rule) && !pads(node.options.value<Window2d>());
}

// An operator whose output is shifted as its inputs are.
bool passes_on(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  const auto clamp = node.options.value<Clamp>();
  return rule.channels == ChannelRule::kShifts && keeps_channels(model, node, rule) &&
         clamp.min == -kInfinity && clamp.max == kInfinity &&
         !node.options.value<Window2d>().count_include_pad;
}

// A layer whose bias can shift its output.
bool is_source(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  const auto clamp = node.options.value<Clamp>();
  const bool linear = clamp.min == -kInfinity && clamp.max == kInfinity;
  return has_constant_weights(model, node, rule) && has_own_bias(model, node, rule) &&
         (rule.weight_axis == 0 || is_depthwise(model, node, rule)) && (linear || clamp.min == 0.0f);
}

}  // namespace

ChannelShifts find_shifts(const Model& model, Arena& arena) {
  ChannelShifts shifts;
  const auto tensors = static_cast<size_t>(model.tensor_count());
  shifts.first = arena.make<size_t>(tensors);
  shifts.sources = arena.make<bool>(tensors);
  const Span<bool> stays = arena.make<bool>(tensors), made = arena.make<bool>(tensors);
  if (arena.exhausted()) return shifts;
  const auto fix = [&stays](int32_t tensor) { stays[static_cast<size_t>(tensor)] = true; };
  for (const int32_t input : model.inputs()) fix(input);
  for (const int32_t output : model.outputs()) fix(output);
  for (int32_t i = 0; i < model.state_count(); ++i) {
    fix(model.state(i).input);
    fix(model.state(i).output);
  }
  // Backwards: what reads a tensor must take its shift.
  for (int32_t n = model.node_count() - 1; n >= 0; --n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    const bool known = def != nullptr && node.outputs.size == 1;
    const bool is_layer = known && def->quant.weight_input >= 0;
    const bool takes = is_layer ? takes_in(model, node, def->quant)
                                : known && !stays[static_cast<size_t>(node.outputs[0])] &&
                                      passes_on(model, node, def->quant);
    for (size_t i = 0; i < node.inputs.size; ++i)
      if (node.inputs[i] >= 0 && (!takes || (is_layer && i > 0))) fix(node.inputs[i]);
  }
  // Forwards: some bias must make the shift.
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def == nullptr || node.outputs.size != 1) continue;
    const auto output = static_cast<size_t>(node.outputs[0]);
    if (stays[output]) continue;
    if (def->quant.weight_input >= 0) {
      made[output] = shifts.sources[output] = is_source(model, node, def->quant);
    } else if (passes_on(model, node, def->quant)) {
      for (const int32_t input : node.inputs)
        made[output] = made[output] || (input >= 0 && made[static_cast<size_t>(input)]);
    }
  }
  for (size_t t = 0; t < tensors; ++t) {
    shifts.first[t] = made[t] ? shifts.channels : ChannelShifts::kNone;
    if (made[t]) shifts.channels += static_cast<size_t>(model.tensor(static_cast<int32_t>(t)).shape.back(0));
  }
  return shifts;
}

size_t channel_shift_bytes(const Model& fp32) {
  return static_cast<size_t>(fp32.tensor_count()) * (sizeof(size_t) + 3 * sizeof(bool)) + 64;
}

}  // namespace intaglio
