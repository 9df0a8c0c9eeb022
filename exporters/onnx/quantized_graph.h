// The nodes of a network with a model's numbers in them.
#pragma once

#include "exporters/onnx/onnx_export.h"
#include "importers/onnx/onnx_file.h"

namespace intaglio::exporters {

// Rewrites `graph`, of this opset: layers have the weights and biases of `model`, and what the model has as codes is
// quantized. `network` is what the file is imported as, in FP32. `result` gets counts and notes. Throws ImportError.
void quantize_graph(onnx_file::GraphProto& graph, const Model& model, const Model& network, OnnxForm form,
                    int64_t opset, OnnxExport& result);

}  // namespace intaglio::exporters
