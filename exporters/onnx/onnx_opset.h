// The same graph in the operator set in which quantizers with a scale for each channel exist.
#pragma once

#include "exporters/onnx/onnx_graph.h"

namespace intaglio::exporters {

inline constexpr int64_t kQuantizedOpset = 13;

// Rewrites the nodes of a graph of opset `from` for opset 13, exactly. `from` is at least 9. Throws ImportError where a
// node has a form that has no exact one there, or none that is known here.
void raise_opset(OnnxGraph& graph, int64_t from);

}  // namespace intaglio::exporters
