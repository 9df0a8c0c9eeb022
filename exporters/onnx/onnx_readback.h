// The check behind an export: its file is imported, and what comes back is compared with the model.
#pragma once

#include "exporters/onnx/onnx_export.h"

namespace intaglio::exporters {

// Whether the network can be imported, and its layers have the names that those of the model have.
Outcome<Done> check_network(Span<const uint8_t> network, const std::string& path,
                            const ExternalData& external, const Model& model, const std::string& model_path,
                            const ImportLimits& limits);

// Imports the exported file and compares each int8 layer of `model` with what comes back: codes of the weights, scales,
// biases, bounds, and the scales and zero points of what it reads and writes. A failure names the first difference.
// Notes say how many layers come back in FP32. In the form FakeQuantize, whose ends of ranges are rounded, scales may
// differ by 1e-5 of themselves and biases by a code.
Outcome<Done> read_back(OnnxExport& result, const Model& model, const std::string& model_path, OnnxForm form);

}  // namespace intaglio::exporters
