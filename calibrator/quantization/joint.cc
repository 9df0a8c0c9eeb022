#include "calibrator/quantization/joint.h"

namespace intaglio {

JointSlots::JointSlots(int32_t count, Arena& arena)
    : configs_(arena.make<QuantConfig>(static_cast<size_t>(count))) {}

int32_t JointSlots::root(int32_t slot) const {
  while (own(slot).dominator >= 0) slot = own(slot).dominator;
  return slot;
}

Error JointSlots::check_writable(int32_t slot) const {
  if (!is_root(slot)) return {Status::kDominatedSlot, -1, -1, slot, root(slot)};
  switch (own(slot).state) {
    case QuantState::kInitial:
    case QuantState::kPassiveInit:
    case QuantState::kActivated:
    case QuantState::kPassive:
      return kNoError;
    default:
      return {Status::kFixedConfig, -1, -1, static_cast<int64_t>(own(slot).state), slot};
  }
}

Error JointSlots::configure(int32_t slot, const QuantConfig& from) {
  ITG_TRY(check_writable(slot));
  ITG_TRY(check_policy(from.policy));
  QuantConfig& config = at(slot);
  if (config.state != QuantState::kInitial)
    return {Status::kFixedConfig, -1, -1, static_cast<int64_t>(config.state), slot};
  config.policy = from.policy;
  config.rounding = from.rounding;
  config.observer = from.observer;
  config.own_observer = from.own_observer;
  config.parameter = from.parameter;
  config.bits = from.bits;
  config.lo = from.lo;
  config.hi = from.hi;
  return kNoError;
}

Error JointSlots::dominate(int32_t child, int32_t master) {
  const int32_t from = root(child), to = root(master);
  if (from == to) return kNoError;
  const auto joins = [this](int32_t slot) {
    return own(slot).state != QuantState::kFp32 && own(slot).state != QuantState::kSoi;
  };
  const bool same_granularity = own(from).has(policy::kPerChannel) == own(to).has(policy::kPerChannel);
  if (!joins(from) || !joins(to) || !same_granularity) return {Status::kNotJoinable, -1, -1, child, master};
  ITG_TRY(intaglio::set_state(at(from), QuantState::kOverlapped));
  at(from).dominator = to;
  return kNoError;
}

Error JointSlots::set_state(int32_t slot, QuantState to) {
  const bool leaves = own(slot).state == QuantState::kOverlapped && to == QuantState::kInitial;
  ITG_TRY(intaglio::set_state(at(slot), to));
  if (leaves) at(slot).dominator = -1;
  return kNoError;
}

Error JointSlots::set_params(int32_t slot, const QuantParams& params, Span<const float> channel_scales) {
  ITG_TRY(check_writable(slot));
  QuantConfig changed = own(slot);
  changed.scale = params.scale;
  changed.offset = params.zero_point;
  changed.channel_scales = channel_scales;
  if (changed.state == QuantState::kActivated) changed.state = QuantState::kInitial;
  if (changed.state == QuantState::kPassive) changed.state = QuantState::kPassiveInit;
  const bool waits = changed.state == QuantState::kPassiveInit;
  ITG_TRY(intaglio::set_state(changed, waits ? QuantState::kPassive : QuantState::kActivated));
  at(slot) = changed;
  return kNoError;
}

}  // namespace intaglio
