// A network in the form that the exporter rewrites.
#pragma once

#include <string>
#include <vector>

#include "importers/onnx/onnx_reader.h"

namespace intaglio::exporters {

// Changes the graph, which gives the same values:
//   - The branch that an If takes stands in its place, where the file decides which.
//   - What follows from constants of the file alone is a constant: weights behind Cast, Reshape, Transpose, Mul and so on.
//   - FP16, BF16 and FP64 become FP32, since quantizers of ONNX have FP32 alone before opset 19. A note says so. Inputs and outputs
//     keep their types: a value `x` that is one is `x/f32` within the graph, behind or before a Cast.
// `known`: what the importer finds constant in the file.
void make_plain(onnx_file::GraphProto& graph, const importers::OnnxConstants& known,
                std::vector<std::string>& notes);

// The name within such a graph of the value that an input or output is: `x/f32`, or its own where it has FP32.
std::string name_in_f32(const onnx_file::ValueInfoProto& end);

}  // namespace intaglio::exporters
