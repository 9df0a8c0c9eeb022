// When each activation is needed, and that the plan keeps those apart that are needed at the same time.
#pragma once

#include "intaglio/model.h"
#include "intaglio/ops.h"

namespace intaglio {

// Index of the last node that reads `tensor`; node_count() for model and state outputs; the writing node's
// own index, or -1 for a model input, where nothing reads it.
int32_t last_use(const Model& model, int32_t tensor, int32_t written_at);

// `last_uses` has room for one entry a tensor and is left filled for activations.
Error check_overlaps(const Model& model, OpList ops, Span<int32_t> last_uses);

}  // namespace intaglio
