// A model's file: checked as a whole, and with more of what a session would derive when it starts, a plan of its activations or
// weights in the layout of one instruction set.
#pragma once

#include <optional>

#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

// Beyond what opening checks: tensors have names of their own, each operator takes its nodes, packed weights are what the plain
// ones give, and a streamed plan is sound. How many bytes of packed weights were compared.
Outcome<size_t> check_whole(const LoadedModel& file);

struct VerifiedModel {
  size_t pack_bytes = 0;     // packed weights that are what the plain ones give
  bool is_streamed = false;  // it has a streamed plan, which gives the same outputs
};

// The same. Then the model runs twice on zeros, the second time in memory that is full of other bytes, and by its streamed plan:
// all outputs must be equal.
Outcome<VerifiedModel> verify(const LoadedModel& file);

// {good, bytes, format_version, nodes, tensors, arena_bytes, streamed, pack_bytes}
Json json_of(const VerifiedModel& found, const LoadedModel& file);

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

// {bytes, arena_bytes, streamed_bytes, fast_bytes, slow_bytes, feeds_rows}
Json json_of(const PlannedMemory& planned);
// {bytes, packed_bytes, nodes, isa}
Json json_of(const PackedWeights& packed, const std::string& isa);

}  // namespace intaglio::tools
