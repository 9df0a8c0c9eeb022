// Networks of other formats: a model of one, and an int8 model as one.
#pragma once

#include <string>
#include <vector>

#include "exporters/onnx/onnx_export.h"
#include "exporters/tflite/tflite_export.h"
#include "importers/import.h"
#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct ImportedNetwork {
  FileBytes bytes;  // of the model's file
  std::vector<std::string> notes;
  ImportCost cost;
};
// It runs: every node has its operator, and a session of it has been measured.
Outcome<ImportedNetwork> import_network(const NetworkFile& network, const ImportOptions& options);

// The inputs of the model that take what its outputs gave in the run before.
std::vector<int32_t> states_of(const Model& model);
// {inputs, outputs, states, preprocessing, ...}: see `import --json`. `model` is made.bytes, opened.
Json json_of(const ImportedNetwork& made, const Model& model);

// Whether the file begins as a network does, or is called one: what import_network() takes, and no model.
bool is_network_file(const std::string& path);
// "tflite", "openvino", or "onnx" of everything else. The file's first 64 bytes will do.
const char* network_format(Span<const uint8_t> bytes);

std::vector<std::string> onnx_form_names();
Outcome<OnnxForm> onnx_form_of(const std::string& name);

// `network`: the ONNX file that the model was imported from, whose inputs and outputs the file gets; nullptr: the model's own.
Outcome<OnnxExport> export_onnx(const LoadedModel& file, const NetworkFile* network, OnnxForm form);
Outcome<TfliteExport> export_tflite(const LoadedModel& file);

// Refuse what stands at the place of an export, and would be lost: any file but an older export, or an empty one.
Outcome<Done> check_onnx_output(const std::string& output);
Outcome<Done> check_tflite_output(const std::string& output);

// {bytes, form, layers, activations, notes}
Json json_of(const OnnxExport& made, OnnxForm form);
// {bytes, layers, notes}
Json json_of(const TfliteExport& made);

}  // namespace intaglio::tools
