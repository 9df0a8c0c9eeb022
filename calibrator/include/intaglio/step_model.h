// One step of a model with states, as a model of its own: so such a model is calibrated.
//
// In the step model each state is an input and an output behind the model's own. A sample of it is a step: the values
// of the inputs, and what the states held before that step. In this order: make_step_model(); run the model with
// states in FP32, a sequence from reset() on, and keep the states before each run; calibrate the step model with these
// samples and CalibratorOptions::states_of. The int8 model has the states again.
#pragma once

#include "intaglio/model.h"

namespace intaglio {

// Bytes of memory that make_step_model() needs for a model.
size_t step_model_bytes(const Model& model);

// Writes the file of the step model into `memory`, which starts at a multiple of kModelAlignment and has
// step_model_bytes(). The inputs of the states, in their order, follow model.inputs(). The outputs of those that are no
// outputs of the model yet follow model.outputs(). Tensors and nodes keep their numbers. The bytes lie in `memory`.
//
// Errors: a model without states (kBadState), memory that is too small (kOutOfMemory).
Result<Span<const uint8_t>> make_step_model(const Model& model, Span<uint8_t> memory);

// The nodes of a model with states that carry a state to its next value by arithmetic without weights: the cell of an
// LSTM, a running sum, a GRU's state. In int8 their rounding would add up from step to step, and changes of less than
// half a step of the scale would be lost. As CalibratorOptions::float_nodes they keep these states in FP32. A state
// whose values are only moved, as rows that are kept, has no such nodes: its codes stay as they are.
//
// `nodes` has room for model.node_count() numbers. Returns those found, ascending, at its beginning.
Span<const int32_t> find_state_nodes(const Model& model, Span<int32_t> nodes);

}  // namespace intaglio
