// ONNX operators that sample a picture at places that a run computes.
#pragma once

#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {

Span<const OnnxDecomposition> onnx_regions_decompositions();

}  // namespace intaglio::importers
