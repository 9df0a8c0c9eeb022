// When each activation is needed, and that the plan keeps those apart that are needed at the same time.
#pragma once

#include "intaglio/model.h"
#include "intaglio/ops.h"

namespace intaglio {

// Index of the last node that reads `tensor`; node_count() for model and state outputs; the writing node's
// own index, or -1 for a model input, where nothing reads it.
int32_t last_use(const Model& model, int32_t tensor, int32_t written_at);

// The node that writes `tensor`, or -1. Outputs ascend over the nodes, so the search can halve.
int32_t writer_of(const Model& model, int32_t tensor);

// Bytes of working memory a tensor that check_overlaps takes.
inline constexpr size_t kOverlapBytes = 2 * sizeof(uint16_t);

// No two tensors that are needed at once share bytes, but for what is made in place: output 0 of a node upon the input
// that its operator names, where nothing reads that any more. `memory`: kOverlapBytes for each tensor of the model. Steps
// grow with the nodes' inputs and outputs, and with the logarithm of how many tensors there are.
Error check_overlaps(const Model& model, OpList ops, uint16_t* memory);

}  // namespace intaglio
