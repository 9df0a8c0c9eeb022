// Whether a model's file is whole, safe and steady.
#pragma once

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

}  // namespace intaglio::tools
