// What a layer costs, whatever runs it.
#pragma once

#include "intaglio/model.h"

namespace intaglio {

// Multiply-and-adds of convolutions and matrix products; 0 for the others.
int64_t macs_of(const Model& model, const NodeInfo& node);

}  // namespace intaglio
