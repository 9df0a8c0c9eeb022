// The steps of an export: the network becomes plain, gets the numbers of the model, and is read back.
#pragma once

#include <string>
#include <vector>

#include "exporters/onnx/onnx_export.h"
#include "exporters/readback.h"
#include "importers/onnx/onnx_file.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::exporters {

// A network in the form that the exporter rewrites.

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

// Rewrites `graph`, of this opset: layers have the weights and biases of `model`, and what the model has as codes is
// quantized. `network` is what the file is imported as, in FP32. `result` gets counts and notes. Throws ImportError.
void quantize_graph(onnx_file::GraphProto& graph, const Model& model, const Model& network, OnnxForm form,
                    int64_t opset, OnnxExport& result);

// A network of the model's own nodes, without the file that it was imported from.

// The operator set that its nodes need.
int64_t opset_of(const Model& model);

// Writes all nodes of `model` into `graph`, which is empty. `result` gets counts and notes. Throws ImportError, which names the node that
// ONNX has no form for.
void write_model_graph(onnx_file::GraphProto& graph, const Model& model, OnnxForm form, int64_t opset,
                       OnnxExport& result);

// The check behind an export: its file is imported, and what comes back is compared with the model.

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
// differ by 1e-5 of themselves and biases by a code. Then both are run: see compare_runs(). `fp32` is the network; nullptr: the file
// has the model's own nodes.
Outcome<Done> read_back(OnnxExport& result, const Model& model, const Model* fp32,
                        const std::string& model_path, OnnxForm form);

}  // namespace intaglio::exporters
