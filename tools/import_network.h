// A network of another format as a model in memory.
#pragma once

#include <string>
#include <vector>

#include "importers/network_file.h"
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

}  // namespace intaglio::tools
