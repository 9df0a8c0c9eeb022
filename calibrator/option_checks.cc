#include "calibrator/option_checks.h"

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/recover/depthwise_scales.h"
#include "runtime/op_search.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

// An answer is FP32, and so is everything behind it.
template <typename Setting>
bool has_no_slot(const Setting& setting, const CalibratorOptions& options, const Model& model) {
  if (setting.node < 0) return false;
  const bool is_answer = answer_op(model, setting.node, options) != Op::kNone;
  return (is_answer && setting.role == SlotRole::kOutput) || follows_answer(model, setting.node, options);
}

Error check_settings(const CalibratorOptions& options, const Model& model) {
  if (options.weight_bits < kMinBits || options.weight_bits > kMaxBits)
    return {Status::kBadBits, -1, -1, options.weight_bits, kMaxBits};
  for (const SlotSetting& setting : options.slots) {
    if (setting.node < -1 || setting.node >= model.node_count())
      return {Status::kBadOption, -1, -1, setting.node, model.node_count() - 1};
    if (has_no_slot(setting, options, model))
      return {Status::kAnswerSlot, setting.node, model.node_outputs(setting.node)[0]};
    if (setting.bits != 0 && (setting.bits < kMinBits || setting.bits > kMaxBits))
      return {Status::kBadBits, setting.node, -1, setting.bits, kMaxBits};
    if (setting.rounding < -1 || setting.rounding >= kRoundingCount)
      return {Status::kBadOption, setting.node, -1, setting.rounding, kRoundingCount - 1};
    if (setting.policy == 0) continue;
    Error error = check_policy(setting.policy);
    error.node = setting.node;
    if (!error.ok()) return error;
  }
  return kNoError;
}

Error check_ranges(const CalibratorOptions& options, const Model& model) {
  for (const SlotRange& range : options.ranges) {
    if (range.node < -1 || range.node >= model.node_count())
      return {Status::kBadOption, -1, -1, range.node, model.node_count() - 1};
    if (has_no_slot(range, options, model))
      return {Status::kAnswerSlot, range.node, model.node_outputs(range.node)[0]};
    if (range.observer < -1 || range.observer >= kRangeMethodCount)
      return {Status::kBadOption, range.node, -1, range.observer, kRangeMethodCount - 1};
  }
  return kNoError;
}

// Weights of how many output channels a tensor holds; 0: it is no layer's weights.
int32_t weight_channels(const Model& model, int32_t tensor) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def == nullptr || def->quant.weight_input < 0) continue;
    if (node.inputs[static_cast<size_t>(def->quant.weight_input)] == tensor)
      return model.tensor(tensor).shape[def->quant.weight_axis];
  }
  return 0;
}

// Kernels compute symmetric codes of 16 bits.
Error check_wide(const KnownParams& known) {
  constexpr int32_t kMost = 32767;
  if (known.hi > kMost) return {Status::kBadOption, -1, known.tensor, known.hi, kMost};
  if (known.lo < -known.hi || known.lo > 0)
    return {Status::kBadOption, -1, known.tensor, known.lo, -known.hi};
  return known.zero_point == 0 ? kNoError : Error{Status::kBadOption, -1, known.tensor, known.zero_point, 0};
}

Error check_known(const Span<const KnownParams>& list, const Model& model) {
  for (const KnownParams& known : list) {
    if (known.tensor < 0 || known.tensor >= model.tensor_count())
      return {Status::kTensorIndex, -1, -1, known.tensor, model.tensor_count()};
    if (known.node != -1) {
      if (known.node < 0 || known.node >= model.node_count())
        return {Status::kBadOption, -1, known.tensor, known.node, model.node_count() - 1};
      const Span<const int32_t> inputs = model.node_inputs(known.node);
      if (known.input < 0 || static_cast<size_t>(known.input) >= inputs.size ||
          inputs[static_cast<size_t>(known.input)] != known.tensor ||
          model.tensor(known.tensor).is_constant())
        return {Status::kBadOption, known.node, known.tensor, known.input,
                static_cast<int64_t>(inputs.size) - 1};
    }
    if (!model.tensor(known.tensor).is_constant()) {
      if (!is_scale(known.scale)) return {Status::kBadScale, -1, known.tensor};
      if (known.hi > 127)
        ITG_TRY(check_wide(known));
      else if (known.lo < -128 || known.lo > known.hi)
        return {Status::kBadOption, -1, known.tensor, known.lo, known.lo < -128 ? -128 : known.hi};
      continue;
    }
    const auto channels = static_cast<size_t>(weight_channels(model, known.tensor));
    const size_t count = known.channel_scales.size;
    if (channels == 0 || (count != 1 && count != channels))
      return {Status::kScaleCount, -1, known.tensor, static_cast<int64_t>(count),
              static_cast<int64_t>(channels)};
    for (size_t c = 0; c < count; ++c)
      if (!is_scale(known.channel_scales[c]))
        return {Status::kBadScale, -1, known.tensor, static_cast<int64_t>(c)};
  }
  return kNoError;
}

// The model with states is the one that this is a step of.
Error check_states(const Model* states_of, const Model& model) {
  if (states_of == nullptr) return kNoError;
  if (states_of->tensor_count() != model.tensor_count())
    return {Status::kNoStepModel, -1, -1, model.tensor_count(), states_of->tensor_count()};
  const auto holds = [](Span<const int32_t> list, int32_t tensor) {
    for (const int32_t other : list)
      if (other == tensor) return true;
    return false;
  };
  for (int32_t i = 0; i < states_of->state_count(); ++i) {
    const StateInfo state = states_of->state(i);
    const bool fits = holds(model.inputs(), state.input) && holds(model.outputs(), state.output) &&
                      model.tensor(state.input).shape == model.tensor(state.output).shape &&
                      model.tensor(state.input).bytes() == states_of->tensor(state.input).bytes();
    if (!fits) return {Status::kNoStepModel, -1, state.input, i, states_of->state_count()};
  }
  const size_t ends = states_of->inputs().size + static_cast<size_t>(states_of->state_count());
  if (model.inputs().size != ends)
    return {Status::kNoStepModel, -1, -1, static_cast<int64_t>(model.inputs().size),
            static_cast<int64_t>(ends)};
  return kNoError;
}

}  // namespace

Error check_options(const CalibratorOptions& options, const Model& model) {
  if (static_cast<int32_t>(options.method) >= kRangeMethodCount)
    return {Status::kBadOption, -1, -1, static_cast<int64_t>(options.method), kRangeMethodCount - 1};
  if (options.compat > Compat::kPpq)
    return {Status::kBadOption, -1, -1, static_cast<int64_t>(options.compat), kCompatCount - 1};
  ITG_TRY(check_settings(options, model));
  ITG_TRY(check_ranges(options, model));
  ITG_TRY(check_known(options.known, model));
  ITG_TRY(check_states(options.states_of, model));
  if (options.without_halves && !options.one_pass) return {Status::kBadOption, -1, -1, 1, 0};
  if (!(options.percentile > 0.5 && options.percentile <= 1.0)) return {Status::kBadOption, -1, -1, 0, 1};
  for (const int32_t node : options.float_nodes)
    if (node < 0 || node >= model.node_count())
      return {Status::kBadOption, -1, -1, node, model.node_count() - 1};
  return kNoError;
}

Error check_float(const Model& model) {
  if (model.state_count() > 0) return {Status::kStateNotCalibrated, -1, model.state(0).input};
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (info.dtype != DType::kF32 && info.dtype != DType::kS32) return {Status::kNotFloat, -1, t};
  }
  return kNoError;
}

Error check_constants(const Model& model, IsaMask isa) {
  const ObserveF32Kernel& kernel = observe_f32_best(isa & cpu_isa());
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (!info.is_constant() || info.dtype != DType::kF32) continue;
    const Span<const float> values{reinterpret_cast<const float*>(info.constant.data),
                                   info.constant.size / sizeof(float)};
    const int64_t at = extremes_of(values, kernel).finite ? -1 : first_non_finite(values);
    if (at >= 0) return {Status::kNonFinite, -1, t, at / info.shape.elements(1, info.shape.rank)};
  }
  return kNoError;
}

RecoveryMask possible_recoveries(const Model& fp32, const CalibratorOptions& options) {
  RecoveryMask recover = options.recover;
  if (options.safe_pairs) recover &= ~recovery::kLayers;
  if (!options.known.empty()) recover &= recovery::kDefault;
  if (!DepthwiseScales::may_apply(fp32, options)) recover &= ~recovery::kDepthwiseScales;
  return recover;
}

}  // namespace intaglio
