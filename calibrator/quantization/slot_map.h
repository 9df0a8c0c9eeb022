// The slots of a model, with what each is before anything is seen: its config, its state and whom it follows.
#pragma once

#include "calibrator/quantization/joint.h"
#include "intaglio/calibrator.h"

namespace intaglio {

// Slot t, for a tensor t, is where it is written (by a node, by the caller, or by a Quantize behind a float
// node); the others are where nodes read.
struct SlotMap {
  JointSlots slots;
  Span<int32_t> first_input_slot;  // of each node; input i is at first_input_slot[n] + i
  Span<int32_t> tensor_of;         // of each slot; -1: an input that is absent

  int32_t input_slot(int32_t node, size_t input) const {
    return first_input_slot[static_cast<size_t>(node)] + static_cast<int32_t>(input);
  }
};

// Joins by the operators' rules:
//   - What reads a tensor and has all the codes that it was written with, or more, reads those; a single reader with
//     fewer codes quantizes in the writer's stead; among several it quantizes once more. So does a reader whose own
//     parameters are known.
//   - An output that follows its input (max pool, reshape, transpose, ...) has the input's quantization.
//   - A state follows its next value.
//   - A layer with weights follows a Clamp behind it that alone reads it.
//   - Compat::kPpq: a Concat's inputs follow its output. Compat::kTengine: the input of a reshape, max pool,
//     slice or Clamp follows the output where nothing else reads it.
// Nodes that stay in float, and what gives an answer writes (int8_nodes.h), have slots in float; constant indices
// are shape-or-index, biases passive.
// `method` chooses the ranges; options.method is what the caller asked for.
Result<SlotMap> make_slots(const Model& model, const CalibratorOptions& options, RangeMethod method,
                           Arena& arena);

// The state of CalibratorOptions::states_of that begins (is_next: ends) with this tensor; -1: none.
int32_t state_of(const CalibratorOptions& options, int32_t tensor, bool is_next);
// Whether it is held in codes: those that read it and the one that writes its next value are in int8.
bool is_in_codes(const SlotMap& map, const StateInfo& state);

// The slot that known parameters belong to.
inline int32_t slot_of(const SlotMap& map, const KnownParams& known) {
  return known.node < 0 ? known.tensor : map.input_slot(known.node, static_cast<size_t>(known.input));
}

size_t slot_count(const Model& model);
// Memory for make_slots(), and for choose_params() behind it.
size_t slot_bytes(const Model& model);

// The most tensors on which the range of a root hangs: activations in codes, but for those that share the range of what they are
// made of.
size_t most_observed(const Model& model, const CalibratorOptions& options);

// `error` with the slot's node and tensor.
Error at_slot(const Model& model, const SlotMap& map, int32_t slot, Error error);

}  // namespace intaglio
