#include "calibrator/recover/channels/channel_shifts.h"

#include "runtime/op_search.h"

namespace intaglio {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

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
