// Weights packed beforehand: what a session makes of them for one kernel, put beside them into the file, from
// where a machine with that kernel uses them in place.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/isa.h"
#include "intaglio/model.h"
#include "intaglio/ops.h"

namespace intaglio {

// The model's file with packs of every int8 node whose kernel, of those that `isa` allows, reads packed weights; packs that it
// had are left out. Nodes of a streamed plan are packed for runs by rows, which take other kernels. Nothing of this machine is in
// it. With no such node: the file without packs. The bytes lie in the arena at a multiple of kMemoryAlignment; the model outlives
// the call alone.
Result<Span<const uint8_t>> pack_model(const Model& model, OpList ops, IsaMask isa, Arena& arena);

}  // namespace intaglio
