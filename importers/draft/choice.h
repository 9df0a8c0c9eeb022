// The choice between two tensors as drafts have it.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// The node of a choice, `inputs` being the condition and what it chooses between. Infinities in constants become the largest
// floats, with a note: what comes of them (a Softmax of masked scores) stays finite, as calibration asks for.
DraftNode& add_where(Draft& draft, const std::string& name, const std::string& source,
                     const std::vector<int32_t>& inputs, int32_t output);

}  // namespace intaglio::importers
