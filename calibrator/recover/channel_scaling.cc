#include "calibrator/recover/channel_scaling.h"

namespace intaglio {
namespace {

float magnitude(float x) { return x < 0.0f ? -x : x; }

}  // namespace

ChannelScaling::ChannelScaling(const ChannelGroups& sets, Arena& arena)
    : groups(sets), readers(arena.make<double>(sets.channels)) {
  const Span<float> both = arena.make<float>(2 * sets.channels);
  peaks = {both.data, both.size / 2};
  factors = {both.data + both.size / 2, both.size / 2};
}

uint64_t ChannelScaling::bytes(const Model& fp32) {
  return channel_group_bytes(fp32) + most_group_channels(fp32) * (2 * sizeof(float) + sizeof(double));
}

Error ChannelScaling::find_peaks(RecoveryContext& context, Span<const Range> ends) {
  // Both lists lie side by side.
  const Span<float> both{peaks.data, peaks.size + factors.size};
  for (float& value : both) value = 0.0f;
  return context.samples.add_up({"channel ranges", context.int8.bytes(), ends.empty() ? 0 : 1},
                                sums_of(SumKind::kPeaks, both), [&] { return walk(context, ends); });
}

Error ChannelScaling::walk(RecoveryContext& context, Span<const Range> ends) {
  Session& session = context.fp32.session;
  const Model& model = context.fp32.model;
  for (int32_t i = 0; i < context.samples.count(); ++i) {
    ITG_TRY(context.step("channel ranges", i, context.samples.count()));
    ITG_TRY(context.samples.load(i));
    for (int32_t n = 0; n < model.node_count(); ++n) {
      context.fp32.run_nodes(session, n, n + 1);
      const int32_t tensor = model.node_outputs(n)[0];
      if (!groups.is_free(tensor)) continue;
      const Span<const float> values = session.tensor(tensor).as<float>();
      const auto channels = static_cast<size_t>(model.tensor(tensor).shape.back(0));
      float* const own = peaks.data + groups.first_of(tensor);
      float* const least = factors.data + groups.first_of(tensor);
      const auto clamp = model.node(n).options.value<Clamp>();
      const bool is_cut = !ends.empty();
      const auto lo = is_cut ? static_cast<float>(ends[static_cast<size_t>(tensor)].lo) : 0.0f,
                 hi = is_cut ? static_cast<float>(ends[static_cast<size_t>(tensor)].hi) : 0.0f;
      for (size_t at = 0; at < values.size; at += channels)
        for (size_t c = 0; c < channels; ++c) {
          const float x = values[at + c];
          const float m = magnitude(!is_cut ? x : x < lo ? lo : x > hi ? hi : x);
          own[c] = m > own[c] ? m : own[c];
          const float share = x > 0.0f ? x / clamp.max : x < 0.0f ? x / clamp.min : 0.0f;
          least[c] = share > least[c] ? share : least[c];
        }
    }
  }
  return kNoError;
}

void ChannelScaling::find_readers(const Model& model) {
  for (double& reader : readers) reader = 0.0;
  for_each_layer(model, [&](const NodeInfo& node, const QuantRule& rule) {
    const int32_t input = node.inputs[0];
    if (!groups.is_free(input) || is_depthwise(model, node, rule)) return;
    const TensorInfo info = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    const Span<const float> weights = writable_floats(info);
    const auto outputs = static_cast<size_t>(info.shape[0]),
               channels = static_cast<size_t>(info.shape.back(0));
    double* const own = readers.data + groups.first_of(input);
    const size_t row = weights.size / outputs;
    for (size_t o = 0; o < outputs; ++o) {
      float peak = 0.0f;
      for (size_t i = 0; i < row; ++i)
        peak = magnitude(weights[o * row + i]) > peak ? magnitude(weights[o * row + i]) : peak;
      if (!(peak > 0.0f)) continue;
      for (size_t i = 0; i < row; ++i) {
        const double share = static_cast<double>(magnitude(weights[o * row + i])) / static_cast<double>(peak);
        double& reader = own[i % channels];
        reader = share > reader ? share : reader;
      }
    }
  });
}

const float* ChannelScaling::changing_factors_of(const Model& model, int32_t tensor) const {
  const float* const own = factors_of(tensor);
  for (int32_t c = 0; own != nullptr && c < model.tensor(tensor).shape.back(0); ++c)
    if (own[c] != 1.0f) return own;
  return nullptr;
}

void ChannelScaling::scale(const Model& model) const {
  scale_summands(model);
  for_each_layer(model, [&](const NodeInfo& node, const QuantRule& rule) {
    const TensorInfo info = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    const Span<float> weights = writable_floats(info);
    const int32_t input = node.inputs[0];
    const auto inner = static_cast<size_t>(info.shape.elements(rule.weight_axis + 1, info.shape.rank));
    const auto outputs = static_cast<size_t>(info.shape[rule.weight_axis]);
    const auto channels = static_cast<size_t>(model.tensor(input).shape.back(0));
    const float* const in = factors_of(input);
    const float* const out = factors_of(node.outputs[0]);
    for (size_t i = 0; i < weights.size; ++i) {
      if (in != nullptr) weights[i] *= in[i % channels];
      if (out != nullptr) weights[i] /= out[i / inner % outputs];
    }
    const auto bias = static_cast<size_t>(rule.bias_input);
    if (out == nullptr || bias >= node.inputs.size || node.inputs[bias] < 0) return;
    const Span<float> biases = writable_floats(model.tensor(node.inputs[bias]));
    for (size_t c = 0; c < biases.size; ++c) biases[c] /= out[c];
  });
}

// For operators that end with a factor and a summand a channel.
void ChannelScaling::scale_summands(const Model& model) const {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def == nullptr || def->quant.real_inputs < 0) continue;
    const float* const out = factors_of(node.outputs[0]);
    for (auto i = static_cast<size_t>(def->quant.real_inputs); out != nullptr && i < node.inputs.size; ++i) {
      const Span<float> values = writable_floats(model.tensor(node.inputs[i]));
      for (size_t c = 0; c < values.size; ++c) values[c] /= out[c];
    }
  }
}

}  // namespace intaglio
