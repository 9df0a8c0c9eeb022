// The nodes of a network with a model's numbers in them.
#pragma once

#include "exporters/onnx/onnx_export.h"
#include "importers/onnx/onnx_file.h"

namespace intaglio::exporters {

// Rewrites `graph`, of this opset: layers have the weights and biases of `model`, and what the model has as codes is
// quantized. `result` gets counts and notes. Throws ImportError.
void quantize_graph(onnx_file::GraphProto& graph, const Model& model, OnnxForm form, int64_t opset,
                    OnnxExport& result);

}  // namespace intaglio::exporters
