// Places activations in two memories: a small fast one, and a large one.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrator/bake/memory_plan.h"

namespace intaglio {

struct TwoSizes {
  uint64_t fast = 0, slow = 0;
};

// Sets the offsets of blocks: those in the fast memory first, then the others from `fast` on. `traffic`, one a block: bytes that are read
// and written there. As much of it as greedy orders find is in the fast memory, of `most.fast` bytes, while the others take at most
// `most.slow`; where no order keeps to that, the one that takes least of the slow memory is what stands. Gives the bytes of both.
// Deterministic.
TwoSizes place_in_two(std::vector<MemoryBlock>& blocks, const std::vector<uint64_t>& traffic,
                      const std::vector<BlockOverlap>& overlaps, int32_t nodes, const TwoSizes& most,
                      Arena& arena);

}  // namespace intaglio
