// Int8 weights and an int32 bias for a node whose input has become codes.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Gives the node the codes that its weights are on their grid, and a bias in units of the products' scales; `input` is
// the tensor of codes that it will read. False, and nothing changed, where the weights lie on no grid, on one of more than
// 8 bits, or on one that the format cannot hold.
bool quantize_weights(Draft& draft, DraftNode& node, int32_t input);

}  // namespace intaglio::importers
