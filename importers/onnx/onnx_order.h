// The order in which a graph's nodes run, and which of them the outputs need.
#pragma once

#include <string>
#include <vector>

#include "importers/onnx/onnx_file.h"

namespace intaglio::importers {

// Indices of the nodes that `outputs` depend on, each behind those that write what it reads. That is the file's order where
// it has this property, as ONNX asks; some tools append nodes. Nodes of a ring stand last.
std::vector<int> needed_in_order(const onnx_file::GraphProto& graph, const std::vector<std::string>& outputs);

}  // namespace intaglio::importers
