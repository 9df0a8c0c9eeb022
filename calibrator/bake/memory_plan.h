// Places activations in one block so that tensors alive at the same time never overlap.
#pragma once

#include "calibrator/bake/graph.h"
#include "calibrator/workspace/arena.h"
#include "intaglio/model.h"
#include "intaglio/ops.h"

namespace intaglio {

// Sets graph.offsets, activation_bytes and activation_lower_bound: the best of several greedy orders. An
// output stands where its operator's alias input stands, if that input dies there. `ops` gives the alias
// rules. Deterministic.
Error plan_memory(Graph& graph, OpList ops, Arena& arena);
// What it takes of the arena for so many tensors.
uint64_t plan_memory_bytes(uint64_t tensors);

// Places pieces of memory, each needed for a time, so that those needed together never overlap.

// An activation with those that are made in place upon it, or a line buffer.
struct MemoryBlock {
  int32_t first = 0;  // node that writes it; -1: a source of the model
  int32_t last = 0;   // node that reads it last; node count: leaves the model
  uint64_t bytes = 0;
  uint64_t offset = 0;
  uint64_t crowd = 0;  // most bytes alive at any moment of its life
};

inline uint64_t align_block(uint64_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

// Block `over` may stand on block `under` from so many bytes on below its start: where a node overwrites rows of its input that it
// has read. In numbers of blocks.
struct BlockOverlap {
  int32_t over = 0, under = 0;
  uint64_t below = 0;
};

// Sets `offset` and `crowd` of blocks that live between -1 and `nodes`: the best of several greedy orders.
// Deterministic. Gives the bytes of all together. `arena` holds two numbers a block.
uint64_t place_blocks(Span<MemoryBlock> blocks, int32_t nodes, Arena& arena,
                      Span<const BlockOverlap> overlaps = {});

}  // namespace intaglio
