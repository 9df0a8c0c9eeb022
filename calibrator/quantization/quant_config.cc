#include "intaglio/quant_config.h"

#include "calibrator/quantization/joint.h"

namespace intaglio {
namespace {

constexpr uint16_t bit(QuantState state) { return static_cast<uint16_t>(1u << static_cast<uint32_t>(state)); }

template <typename... States>
constexpr uint16_t set_of(States... states) {
  return static_cast<uint16_t>((0u | ... | bit(states)));
}

using S = QuantState;

// Row: from; bits: to. From kDequantized only back to what was saved.
constexpr uint16_t kLegal[kQuantStateCount] = {
    /* kInitial */ set_of(S::kActivated, S::kOverlapped, S::kSoi, S::kFp32, S::kPassiveInit, S::kPassive,
                          S::kDequantized, S::kDeactivated),
    /* kPassiveInit */ set_of(S::kPassive, S::kSoi, S::kFp32, S::kDequantized, S::kDeactivated),
    /* kActivated */
    set_of(S::kBaked, S::kInitial, S::kOverlapped, S::kPassive, S::kDequantized, S::kDeactivated, S::kFp32),
    /* kPassive */ set_of(S::kPassiveBaked, S::kPassiveInit, S::kDequantized, S::kDeactivated, S::kFp32),
    /* kOverlapped */ set_of(S::kInitial, S::kDequantized, S::kDeactivated, S::kFp32),
    /* kBaked */ set_of(S::kActivated, S::kDequantized),
    /* kPassiveBaked */ set_of(S::kPassive, S::kDequantized),
    /* kDequantized */
    set_of(S::kInitial, S::kPassiveInit, S::kActivated, S::kPassive, S::kOverlapped, S::kBaked,
           S::kPassiveBaked),
    /* kDeactivated */ set_of(S::kInitial),
    /* kFp32 */ set_of(S::kInitial),
    /* kSoi */ 0,
};

// Exactly one bit of `choice`.
bool one_of(QuantPolicy policy, QuantPolicy choice) {
  const uint32_t chosen = policy & choice;
  return chosen != 0 && (chosen & (chosen - 1)) == 0;
}

bool is_scale_of(float scale) { return scale > 0.0f && scale <= 3.4028235e38f; }

bool has_params(const QuantConfig& config) {
  for (const float scale : config.channel_scales)
    if (!is_scale_of(scale)) return false;
  return (!config.channel_scales.empty() || is_scale_of(config.scale)) && config.offset >= config.lo &&
         config.offset <= config.hi;
}

}  // namespace

Error check_policy(QuantPolicy policy) {
  constexpr QuantPolicy kKnown = 127;
  constexpr QuantPolicy kChoices[] = {policy::kPerTensor | policy::kPerChannel,
                                      policy::kSymmetric | policy::kAsymmetric,
                                      policy::kLinear | policy::kExponential};
  if ((policy & ~kKnown) != 0) return {Status::kBadPolicy, -1, -1, policy, policy & ~kKnown};
  for (const QuantPolicy choice : kChoices)
    if (!one_of(policy, choice)) return {Status::kBadPolicy, -1, -1, policy, choice};
  constexpr QuantPolicy kTwice = policy::kExponential | policy::kPowerOfTwo;
  if ((policy & kTwice) == kTwice) return {Status::kBadPolicy, -1, -1, policy, kTwice};
  return kNoError;
}

Error set_bits(QuantConfig& config, int32_t bits) {
  if (bits < kMinBits || bits > kMaxBits) return {Status::kBadBits, -1, -1, bits, kMaxBits};
  config.bits = static_cast<uint8_t>(bits);
  config.hi = static_cast<int32_t>((int64_t{1} << (bits - 1)) - 1);
  config.lo = -config.hi - 1;
  return kNoError;
}

bool is_legal(QuantState from, QuantState to) { return (kLegal[static_cast<size_t>(from)] & bit(to)) != 0; }

Error set_state(QuantConfig& config, QuantState to) {
  const Error refused{Status::kStateTransition, -1, -1, static_cast<int64_t>(config.state),
                      static_cast<int64_t>(to)};
  if (!is_legal(config.state, to)) return refused;
  if (config.state == S::kDequantized && to != config.saved_state) return refused;
  const bool quantizes = to == S::kActivated || to == S::kPassive;
  if (quantizes && !has_params(config))
    return {Status::kConfigWithoutScale, -1, -1, static_cast<int64_t>(config.state),
            static_cast<int64_t>(to)};
  if (to == S::kDequantized) config.saved_state = config.state;
  config.state = to;
  return kNoError;
}

bool is_finished(QuantState state) {
  return (set_of(S::kActivated, S::kPassive, S::kOverlapped, S::kBaked, S::kPassiveBaked, S::kFp32, S::kSoi) &
          bit(state)) != 0;
}

}  // namespace intaglio
