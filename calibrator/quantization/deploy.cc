#include "calibrator/quantization/deploy.h"

namespace intaglio {
namespace {

// The fewest bits whose signed codes hold all codes of a config.
int32_t signed_bits(const QuantConfig& config) {
  int32_t bits = kMinBits;
  while (bits < kMaxBits &&
         (config.lo < -(int64_t{1} << (bits - 1)) || config.hi >= int64_t{1} << (bits - 1)))
    ++bits;
  return bits;
}

}  // namespace

Error check_deployable(const QuantConfig& config) {
  constexpr int32_t kInt8Bits = 8;
  // Activations may stand in int16, if they are symmetric.
  const bool may_be_wide = !config.parameter && !config.has(policy::kAsymmetric);
  switch (config.state) {
    case QuantState::kFp32:
    case QuantState::kSoi:
    case QuantState::kPassiveInit:
    case QuantState::kPassive:
    case QuantState::kPassiveBaked:
      return kNoError;
    default:
      break;
  }
  const int32_t most_bits = may_be_wide ? 2 * kInt8Bits : kInt8Bits;
  if (config.bits > most_bits) return {Status::kBitsNotDeployable, -1, -1, config.bits, most_bits};
  if (config.bits <= kInt8Bits && (config.lo < -128 || config.hi > 127))  // as signed codes, which int8's are
    return {Status::kBitsNotDeployable, -1, -1, signed_bits(config), kInt8Bits};
  if (config.has(policy::kExponential)) return {Status::kExponentialNotDeployable, -1, -1, config.policy};
  if (config.parameter && config.has(policy::kAsymmetric))
    return {Status::kOffsetNotDeployable, -1, -1, config.policy};
  if (!config.parameter && config.has(policy::kPerChannel))
    return {Status::kChannelsNotDeployable, -1, -1, config.policy};
  if (!config.parameter && config.rounding != Rounding::kHalfEven)
    return {Status::kRoundingNotDeployable, -1, -1, static_cast<int64_t>(config.rounding)};
  return kNoError;
}

Error check_node_deployable(const Model& model, const SlotMap& map, int32_t n) {
  const NodeInfo node = model.node(n);
  const auto check = [&](int32_t slot, int32_t tensor) {
    Error error = check_deployable(map.slots.config(slot));
    error.node = n;
    error.tensor = tensor;
    return error;
  };
  for (size_t i = 0; i < node.inputs.size; ++i) {
    if (node.inputs[i] < 0) continue;
    const Error error = check(map.input_slot(n, i), node.inputs[i]);
    if (!error.ok()) return error;
  }
  for (const int32_t output : node.outputs) {
    const Error error = check(output, output);
    if (!error.ok()) return error;
  }
  return kNoError;
}

Error check_finished(const Model& model, const SlotMap& map, bool baked) {
  for (int32_t slot = 0; slot < map.slots.count(); ++slot) {
    const QuantConfig& config = map.slots.own(slot);
    if (map.tensor_of[static_cast<size_t>(slot)] < 0 || is_finished(config.state)) continue;
    if (config.parameter && !baked) continue;
    return at_slot(model, map, slot, {Status::kUnfinishedConfig, -1, -1, static_cast<int64_t>(config.state)});
  }
  return kNoError;
}

}  // namespace intaglio
