// The choice between two tensors as drafts have it.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// The node of a choice, `inputs` being the condition and what it chooses between. Infinities in constants become the largest
// floats, with a note: what comes of them (a Softmax of masked scores) stays finite, as calibration asks for.
DraftNode& add_where(Draft& draft, const std::string& name, const std::string& source,
                     const std::vector<int32_t>& inputs, int32_t output);

// Infinities in constants, with which exporters mask, and numbers that are nearly as large.

// The stand-in for an infinity: e to the power of its negative is 0 as well. Many of them have a finite sum, also with the largest
// float, which they do not change.
inline constexpr float kMasked = 0x1p100f;

}  // namespace intaglio::importers
