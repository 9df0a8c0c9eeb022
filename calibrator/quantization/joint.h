// Configs that share one set of parameters, and the states a config goes through.
#pragma once

#include "calibrator/quantization/scales.h"
#include "calibrator/workspace/arena.h"
#include "intaglio/quant_config.h"

namespace intaglio {

// The states of a quantization config as a machine: the legal steps are a table, and every other is an error.
bool is_legal(QuantState from, QuantState to);

// Takes a config to another state. Refused, with nothing changed: kStateTransition for a step that the table
// does not have, or from kDequantized to another state than was saved; kConfigWithoutScale for kActivated and
// kPassive where scales are not above 0 and finite or the offset is outside the codes.
Error set_state(QuantConfig& config, QuantState to);

// Whether a model may be baked with a config in this state.
bool is_finished(QuantState state);

// Joint quantization: a union-find over configs. In a set of joined slots the root's parameters hold, and the
// root alone can be written; every other slot is overlapped.
class JointSlots {
 public:
  JointSlots() = default;
  JointSlots(int32_t count, Arena& arena);

  int32_t count() const { return static_cast<int32_t>(configs_.size); }
  int32_t root(int32_t slot) const;
  bool is_root(int32_t slot) const { return own(slot).dominator < 0; }

  const QuantConfig& own(int32_t slot) const { return configs_[static_cast<size_t>(slot)]; }
  const QuantConfig& config(int32_t slot) const { return own(root(slot)); }  // what holds at the slot
  QuantParams params(int32_t slot) const {
    const QuantConfig& holds = config(slot);
    return {holds.scale, holds.offset, holds.lo, holds.hi};
  }

  // Takes over policy, rounding, observer, bits and codes of `from`, for a slot that is still initial.
  // kDominatedSlot, kFixedConfig.
  Error configure(int32_t slot, const QuantConfig& from);
  // The set of `child` follows the set of `master` from now on. Nothing where they are one already. Refused
  // for slots in float, of indices, or of another granularity (kNotJoinable), and for a state that cannot be
  // overlapped (kStateTransition).
  Error dominate(int32_t child, int32_t master);
  // kStateTransition where the step is not legal. A slot that is overlapped and becomes initial leaves its
  // set, with those that follow it.
  Error set_state(int32_t slot, QuantState to);
  // Parameters, and with them kActivated (or kPassive for a slot that waits for its own). kDominatedSlot
  // where another slot rules; kFixedConfig for one that is baked, in float or an index.
  Error set_params(int32_t slot, const QuantParams& params, Span<const float> channel_scales = {});

 private:
  QuantConfig& at(int32_t slot) { return configs_[static_cast<size_t>(slot)]; }
  Error check_writable(int32_t slot) const;

  Span<QuantConfig> configs_;
};

}  // namespace intaglio
