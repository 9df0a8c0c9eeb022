// A graph to the bytes of a model file.
#pragma once

#include "calibrator/graph.h"

namespace intaglio {

// Upper bound of the arena bytes that write_model() takes for this graph.
size_t model_bytes_bound(const Graph& graph);

// The file's bytes, in the arena, at a multiple of kModelAlignment, with its CRC-32. The graph has been planned.
// int8 convolutions without options.multiplier get multiplier and folded bias from their tensors.
// The same graph gives the same bytes on every machine.
Result<Span<const uint8_t>> write_model(const Graph& graph, Arena& arena);

}  // namespace intaglio
