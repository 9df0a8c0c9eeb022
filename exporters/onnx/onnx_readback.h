// The check behind an export: its file is imported, and what comes back is compared with the model.
#pragma once

#include "exporters/onnx/onnx_export.h"
#include "exporters/readback.h"
#include "importers/onnx/onnx_file.h"

namespace intaglio::exporters {

// How the network is imported to become the model: with the shapes of the model's inputs.
ImportOptions network_options(const onnx_file::GraphProto& graph, const ExternalData& external,
                              const Model& model, const ImportLimits& limits);

// Imports the network into `fp32`, which is new. A failure says why it cannot be, or which layer of the model it lacks.
Outcome<Done> check_network(Span<const uint8_t> network, const std::string& path,
                            const ExternalData& external, const Model& model, const std::string& model_path,
                            const ImportLimits& limits, Reimported& fp32);

// Imports the exported file and compares each int8 layer of `model` with what comes back: codes of the weights, scales,
// biases, bounds, and the scales and zero points of what it reads and writes. A failure names the first difference.
// Notes say how many layers come back in FP32. In the form FakeQuantize, whose ends of ranges are rounded, scales may
// differ by 1e-5 of themselves and biases by a code. Then both are run: see compare_runs().
Outcome<Done> read_back(OnnxExport& result, const Model& model, const Model& fp32,
                        const std::string& model_path, OnnxForm form);

}  // namespace intaglio::exporters
