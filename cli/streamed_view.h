// What inspect says of a model's streamed plan.
#pragma once

#include "cli/output.h"
#include "intaglio/model.h"

namespace intaglio::cli {

// null where the model has none; the fault where it cannot be used.
Json json_of_streamed(const Model& model, bool with_tensors);

// A line about the activations by rows and layer by layer; nothing where the model has no such plan.
void print_streamed_summary(const Model& model);
// Each segment with its line buffers.
void print_streamed_plan(const Model& model);

}  // namespace intaglio::cli
