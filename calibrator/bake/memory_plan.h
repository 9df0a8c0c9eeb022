// Places activations in one block so that tensors alive at the same time never overlap.
#pragma once

#include "calibrator/bake/graph.h"
#include "intaglio/ops.h"

namespace intaglio {

// Sets graph.offsets, activation_bytes and activation_lower_bound: the best of several greedy orders. An
// output stands where its operator's alias input stands, if that input dies there. `ops` gives the alias
// rules. Deterministic.
Error plan_memory(Graph& graph, OpList ops, Arena& arena);

}  // namespace intaglio
