#include "calibrator/recover/bias_absorption.h"

#include <limits>

#include "calibrator/recover/range_method.h"

namespace intaglio {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// The share of the error before that must not be left. Other samples than those of the shifts judge, but a gain by chance is none.
constexpr double kWorthwhile = 0.8;

Span<float> biases_of(const Model& model, const NodeInfo& node, const QuantRule& rule) {
  const auto bias = static_cast<size_t>(rule.bias_input);
  return writable_floats(model.tensor(node.inputs[bias]));
}

// The middle of the values of a layer without activation; the least value that ReLU leaves.
float shift_of(const Clamp& clamp, float lowest, float highest) {
  if (clamp.min == -kInfinity)
    return static_cast<float>((static_cast<double>(lowest) + static_cast<double>(highest)) * 0.5);
  return lowest > 0.0f && highest < clamp.max ? lowest : 0.0f;
}

}  // namespace

BiasAbsorber::BiasAbsorber(const FloatModel& fp32, const CalibrationState& seen,
                           const CalibratorOptions& options, Arena& arena) {
  if ((options.recover & recovery::kBiasAbsorption) == 0) return;
  rewrite_ = ModelRewrite(fp32.model, seen, fp32.lanes.own().persistent.size, arena);
  tensors_ = find_shifts(fp32.model, arena);
  for (const int32_t half : {0, 1}) {
    lowest_[half] = arena.make<float>(tensors_.channels);
    highest_[half] = arena.make<float>(tensors_.channels);
  }
  shifts_ = arena.make<float>(tensors_.channels);
}

uint64_t BiasAbsorber::bytes(const Model& fp32, size_t persistent_bytes, const CalibratorOptions& options) {
  if ((options.recover & recovery::kBiasAbsorption) == 0) return 0;
  uint64_t channels = 0;
  for (int32_t t = 0; t < fp32.tensor_count(); ++t) {
    const TensorInfo info = fp32.tensor(t);
    if (!info.is_constant()) channels += info.shape.rank == 0 ? 1 : static_cast<uint64_t>(info.shape.back(0));
  }
  return ModelRewrite::bytes(fp32, persistent_bytes, options) + channel_shift_bytes(fp32) +
         5 * channels * sizeof(float);
}

// Over the samples of each half, from the FP32 model in use.
Error BiasAbsorber::find_extremes(RecoveryContext& context) {
  for (const int32_t half : {0, 1}) {
    for (float& value : lowest_[half]) value = kInfinity;
    for (float& value : highest_[half]) value = -kInfinity;
  }
  Session& session = context.fp32.session;
  const Model& model = context.fp32.model;
  for (int32_t i = 0; i < context.samples.count(); ++i) {
    ITG_TRY(context.step("channel ranges", i, context.samples.count()));
    ITG_TRY(context.samples.load(i));
    const auto half = static_cast<size_t>(half_of(context.samples.digest(i)));
    for (int32_t n = 0; n < model.node_count(); ++n) {
      context.fp32.run_nodes(session, n, n + 1);
      const int32_t tensor = model.node_outputs(n)[0];
      if (!tensors_.sources[static_cast<size_t>(tensor)]) continue;
      const Span<const float> values = session.tensor(tensor).as<float>();
      const auto channels = static_cast<size_t>(model.tensor(tensor).shape.back(0));
      float* const lowest = lowest_[half].data + tensors_.first_of(tensor);
      float* const highest = highest_[half].data + tensors_.first_of(tensor);
      for (size_t at = 0; at < values.size; at += channels)
        for (size_t c = 0; c < channels; ++c) {
          const float v = values[at + c];
          lowest[c] = v < lowest[c] ? v : lowest[c];
          highest[c] = v > highest[c] ? v : highest[c];
        }
    }
  }
  return kNoError;
}

// By what this half of the samples shows, or both. False where nothing is to be shifted.
bool BiasAbsorber::choose_shifts(const Model& model, int32_t half) {
  bool any = false;
  for (float& shift : shifts_) shift = 0.0f;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const int32_t tensor = node.outputs[0];
    if (!tensors_.is_free(tensor)) continue;
    const size_t first = tensors_.first_of(tensor),
                 end = first + static_cast<size_t>(model.tensor(tensor).shape.back(0));
    if (!tensors_.sources[static_cast<size_t>(tensor)]) {
      for (const int32_t input : node.inputs)
        for (size_t c = first; c < end && input >= 0 && tensors_.is_free(input); ++c)
          shifts_[c] += shifts_[tensors_.first_of(input) + (c - first)];
      continue;
    }
    for (size_t c = first; c < end; ++c) {
      const float low[] = {lowest_[0][c], lowest_[1][c]}, high[] = {highest_[0][c], highest_[1][c]};
      const float lowest = half == kBothHalves ? (low[0] < low[1] ? low[0] : low[1]) : low[half];
      const float highest = half == kBothHalves ? (high[0] > high[1] ? high[0] : high[1]) : high[half];
      shifts_[c] = shift_of(node.options.value<Clamp>(), lowest, highest);
      any = any || shifts_[c] != 0.0f;
    }
  }
  return any;
}

// Products of two floats are exact in double, so that no compiler's contraction changes a sum.
void BiasAbsorber::move_biases(const Network& from) {
  const Model model = rewrite_.copy(from);
  for_each_layer(model, [&](const NodeInfo& node, const QuantRule& rule) {
    const int32_t input = node.inputs[0], output = node.outputs[0];
    const bool takes_in = tensors_.is_free(input),
               gives = tensors_.is_free(output) && tensors_.sources[static_cast<size_t>(output)];
    if (!takes_in && !gives) return;
    const TensorInfo info = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    const Span<const float> weights = writable_floats(info);
    const Span<float> biases = biases_of(model, node, rule);
    const bool by_rows = rule.weight_axis == 0;
    const size_t channels = static_cast<size_t>(model.tensor(input).shape.back(0)),
                 each = weights.size / biases.size;
    for (size_t o = 0; o < biases.size; ++o) {
      auto sum = static_cast<double>(biases[o]);
      for (size_t k = 0; takes_in && k < each; ++k) {
        const size_t at = by_rows ? o * each + k : k * biases.size + o;
        sum += static_cast<double>(weights[at]) *
               static_cast<double>(shifts_[tensors_.first_of(input) + at % channels]);
      }
      if (gives) sum -= static_cast<double>(shifts_[tensors_.first_of(output) + o]);
      biases[o] = static_cast<float>(sum);
    }
  });
}

Error BiasAbsorber::shift_by(RecoveryContext& context, const Network& from, int32_t half) {
  choose_shifts(from.model, half);
  move_biases(from);
  rewrite_.network().channels_shifted = true;
  return rewrite_.observe(context);
}

Result<Candidate> BiasAbsorber::run(RecoveryContext& context, const Candidate& now) {
  const Network& from = *now.network;
  const bool may_judge = can_judge(from.seen), tries = may_judge && tensors_.channels > 0;
  if (tries) ITG_TRY(find_extremes(context));
  if (!tries || !choose_shifts(from.model, kBothHalves)) {
    context.guard.not_tried(recovery::kBiasAbsorption, now,
                            may_judge ? RecoveryVerdict::kNothingToDo : RecoveryVerdict::kTooFewSamples);
    return now;
  }
  NetworkError before;
  ITG_TRY(judge_ranges(context, now, before));
  Candidate tried = now;
  tried.network = &rewrite_.network();
  MethodErrors errors;
  for (const int32_t half : {0, 1}) {
    ITG_TRY(shift_by(context, from, half));
    ITG_TRY(errors.add_half(context, tried, half));
  }
  tried.method = errors.best();
  const bool kept =
      context.guard.keeps(recovery::kBiasAbsorption, before, errors.of(tried.method), kWorthwhile);
  if (kept) ITG_TRY(shift_by(context, from, kBothHalves));
  ITG_TRY(context.build(kept ? tried : now));
  return kept ? context.judged("after absorption", tried) : now;
}

}  // namespace intaglio
