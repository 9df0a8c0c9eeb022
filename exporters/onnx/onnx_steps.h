// The steps of an export: the model's nodes are written, and the file is read back.
#pragma once

#include <string>
#include <vector>

#include "exporters/onnx/onnx_export.h"
#include "exporters/readback.h"
#include "importers/onnx/onnx_file.h"

namespace intaglio::exporters {

// The operator set that the model's nodes need.
int64_t opset_of(const Model& model);

// Writes all nodes of `model` into `graph`, which is empty. `result` gets counts and notes. Throws ImportError, which names the node that
// ONNX has no form for.
void write_model_graph(onnx_file::GraphProto& graph, const Model& model, OnnxForm form, int64_t opset,
                       const OnnxEnds* ends, OnnxExport& result);

// Imports the exported file and compares each int8 layer of `model` with what comes back: codes of the weights, scales,
// biases, bounds, and the scales and zero points of what it reads and writes. A failure names the first difference.
// Notes say how many layers come back in FP32. In the form FakeQuantize, whose ends of ranges are rounded, scales may
// differ by 1e-5 of themselves and biases by a code. Then both are run: see compare_runs().
Outcome<Done> read_back(OnnxExport& result, const Model& model, const std::string& path, OnnxForm form);

}  // namespace intaglio::exporters
