// An int8 model as a network of another format, for other runtimes.
#pragma once

#include "exporters/onnx/onnx_export.h"
#include "exporters/tflite/tflite_export.h"
#include "importers/network_file.h"
#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct ExportOnnxChoice {
  OnnxForm form = OnnxForm::kQdq;
  bool external_data = false;  // weights also from folders within the network's own
  ImportLimits limits;
};

std::vector<std::string> onnx_form_names();
Outcome<OnnxForm> onnx_form_of(const std::string& name);

// `network`: what the model was imported from.
Outcome<OnnxExport> export_onnx(const LoadedModel& file, const NetworkFile& network,
                                const ExportOnnxChoice& choice);
Outcome<TfliteExport> export_tflite(const LoadedModel& file);

// Refuse what stands at the place of an export, and would be lost: any file but an older export, or an empty one.
Outcome<Done> check_onnx_output(const std::string& output);
Outcome<Done> check_tflite_output(const std::string& output);

// {bytes, form, layers, activations, notes}
Json json_of(const OnnxExport& made, const ExportOnnxChoice& choice);
// {bytes, layers, notes}
Json json_of(const TfliteExport& made);

}  // namespace intaglio::tools
