// Which operator slots share one quantization. A slot is a place where an operator reads or writes a tensor;
// joined slots form a set whose root alone can be written.
#pragma once

#include "calibrator/arena.h"
#include "calibrator/scales.h"

namespace intaglio {

class JointSlots {
 public:
  JointSlots() = default;
  JointSlots(int32_t count, Arena& arena);

  void join(int32_t a, int32_t b);  // the root is the smallest slot of the set
  int32_t root(int32_t slot) const;
  // Writes the parameters of a whole set. False, and nothing is written, where `slot` is not its set's root.
  bool set(int32_t slot, const QuantParams& params);
  const QuantParams& params(int32_t slot) const { return params_[static_cast<size_t>(root(slot))]; }

 private:
  Span<int32_t> parent_;
  Span<QuantParams> params_;
};

// The slots of a model: slot t, for a tensor t, is where it is written; the others are where nodes read.
struct SlotMap {
  JointSlots slots;
  Span<int32_t> first_input_slot;  // of each node; input i is at first_input_slot[n] + i
};

// Joins along edges and by the operators' rules: what reads a tensor reads it as it was written; an output
// that follows its input (max pool, reshape, transpose, ...) shares the input's set.
SlotMap join_slots(const Model& model, OpList ops, Arena& arena);

}  // namespace intaglio
