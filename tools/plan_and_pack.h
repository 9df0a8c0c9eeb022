// A model's file with more of what a session would derive when it starts: a plan of its activations, weights in the layout of
// one instruction set.
#pragma once

#include <optional>

#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct PlanChoice {
  MemoryGoal goal;
  std::optional<uint32_t> ceiling;  // of the model: Model::memory_ceiling(); none: the file's own
};

struct PlannedMemory {
  FileBytes bytes;        // the file
  size_t flat_bytes = 0;  // activations layer by layer
  StreamedNeeds by_rows;
};

Outcome<PlannedMemory> plan_memory(const LoadedModel& file, const PlanChoice& choice, const Work& work);

struct PackedWeights {
  FileBytes bytes;          // the file
  size_t packed_bytes = 0;  // weights that it holds packed
  int32_t nodes = 0;        // whose weights these are
};

// `isa` as isa_up_to() reads it.
Outcome<PackedWeights> pack_weights(const LoadedModel& file, const std::string& isa);

// {bytes, arena_bytes, streamed_bytes, feeds_rows}
Json json_of(const PlannedMemory& planned);
// {bytes, packed_bytes, nodes, isa}
Json json_of(const PackedWeights& packed, const std::string& isa);

}  // namespace intaglio::tools
