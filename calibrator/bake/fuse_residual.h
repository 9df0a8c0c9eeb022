// Convolution followed by an Add: the convolution takes the Add's other operand as its residual input.
#pragma once

#include "calibrator/bake/graph.h"

namespace intaglio {

// Results keep their bits: the convolution's own quantization becomes the intermediate one.
void fuse_residual(Graph& graph, Arena& arena);

}  // namespace intaglio
