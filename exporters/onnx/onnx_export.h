// A model as an ONNX file: its own nodes, scales, int8 weights and int32 biases.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
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

// An input or output as an ONNX file declares it.
struct OnnxEnd {
  std::string name;
  int32_t type = 0;           // TensorProto.DataType
  bool has_shape = false;     // the file says the rank
  std::vector<int64_t> dims;  // 0: the file leaves it open
};
struct OnnxEnds {
  std::string path;  // for messages
  std::vector<OnnxEnd> inputs, outputs;
};

// The inputs and outputs of the ONNX file in `network`, and nothing else of it. A failure begins with `path`.
Outcome<OnnxEnds> read_onnx_ends(Span<const uint8_t> network, const std::string& path);

// A graph of the model's own nodes; FP32 models, too. States are inputs and outputs beside the others. Inputs and outputs have the model's
// shapes, and real numbers for codes. With `ends` each has the order of axes, the rank and the type that it has there, in the network
// that the model was imported from; outputs that are not there keep the model's.
//
// The file is imported again before it is given, and each layer compared: codes of weights, scales, biases and bounds. Then both are run:
// see compare_runs() in exporters/readback.h. A failure begins with `path`, the model's, and names the node that ONNX has no form for, or the
// layer that would not come back.
Outcome<OnnxExport> export_onnx(const Model& model, const std::string& path, OnnxForm form,
                                const OnnxEnds* ends = nullptr);

}  // namespace intaglio
