// The checks of Model::open that need no operator's knowledge. Part of model.cc's room: these two files
// alone know the schema.
#pragma once

#include "intaglio/model.h"
#include "schema/model_generated.h"

namespace intaglio {

// `root` has passed the FlatBuffers verifier. `model` is what reads it, but for its plan. `offsets` becomes that of the plan, whose size is
// checked.
Error check_model(const schema::Model& root, const Model& model, const uint32_t** offsets);

}  // namespace intaglio
