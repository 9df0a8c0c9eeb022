// Checks a model file before a command runs it, or makes another file of it.
#pragma once

#include "tools/loaded_model.h"

namespace intaglio::cli {

using namespace tools;

// Beyond what opening checks: tensors have names of their own, each operator takes its nodes, packed weights are what the plain
// ones give, and a streamed plan is sound. How many bytes of packed weights were compared.
Outcome<size_t> check_whole(const LoadedModel& file);

}  // namespace intaglio::cli
