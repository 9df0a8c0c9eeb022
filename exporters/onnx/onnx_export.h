// A model as an ONNX file: of its own nodes, or the network that it was made from, with the model's scales, int8 weights and int32
// biases in it.
#pragma once

#include <string>
#include <vector>

#include "importers/import.h"
#include "intaglio/model.h"

namespace intaglio {

enum class OnnxForm : uint8_t {
  kQdq,           // QuantizeLinear and DequantizeLinear of ONNX, opset 13
  kFakeQuantize,  // OpenVINO's FakeQuantize
  kQOperator,     // QLinearConv and the like, of ONNX and onnxruntime, opset 13
};
struct OnnxFormName {
  const char* name;
  OnnxForm form;
};
inline constexpr OnnxFormName kOnnxForms[] = {
    {"qdq", OnnxForm::kQdq}, {"fakequantize", OnnxForm::kFakeQuantize}, {"qoperator", OnnxForm::kQOperator}};

struct OnnxExport {
  std::string bytes;
  int32_t layers = 0;       // with int8 weights
  int32_t activations = 0;  // that are quantized
  std::vector<std::string> notes;
};

// `network`: the bytes of the ONNX file that `model` was imported from, whose names it has; `external` is where its
// external data may be. Every node of it stays but those that the import folded into a layer before them (batch
// normalization, an added constant). Nodes and layers are matched by name.
//
// The file is read back by the importer before it is given, and each layer compared: codes of weights, scales, biases
// and bounds. A failure names the first layer that would not come back. Then both are run: see compare_runs() in
// exporters/readback.h. `limits` are those of the network's import. `path` and `model_path` are for messages.
Outcome<OnnxExport> export_onnx(Span<const uint8_t> network, const std::string& path,
                                const ExternalData& external, const Model& model,
                                const std::string& model_path, OnnxForm form,
                                const ImportLimits& limits = {});

// The same without that file: a graph of the model's own nodes, whose inputs and outputs have the model's shapes; FP32 models, too. States
// are inputs and outputs beside the others. A failure names the node that ONNX has no form for.
Outcome<OnnxExport> export_onnx(const Model& model, const std::string& path, OnnxForm form);

}  // namespace intaglio
