// An OpenVINO IR's XML as layers, in an order in which they run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "importers/draft/draft.h"
#include "importers/draft/read_options.h"

namespace intaglio::importers {

using IrShape = std::vector<int64_t>;  // -1: open

struct IrPort {
  std::string type;  // "FP32", "I64", ...
  IrShape shape;
  std::string name;  // of the tensor; empty: it has none
};

// The source of an input: an output of another layer.
struct IrSource {
  int32_t layer = -1;  // index; -1: nothing
  int32_t port = 0;    // which output
};

struct IrBody;

struct IrLayer {
  std::string name, type, version;                // version: "opset1" and so on
  std::map<std::string, std::string> attributes;  // of <data>
  std::vector<IrSource> inputs;
  std::vector<IrPort> outputs;
  std::shared_ptr<const IrBody> body;  // of TensorIterator and Loop
};

// An end of a body: its Parameter or Result and a port of the layer.
struct IrMapping {
  int32_t inner = -1;  // index of the body's layer
  int32_t port = -1;   // index of the layer's input or output; -1: none
  std::string purpose;
  bool is_sliced = false;  // along an axis; otherwise the rest does not count
  int64_t axis = 0, start = 0, end = -1, stride = 1, part_size = 1;
};

struct IrBody {
  std::vector<IrLayer> layers;  // as of a file
  std::vector<IrMapping> inputs, outputs;
  std::map<int32_t, int32_t> back;  // the Result that each Parameter takes in the next run
};

// Throws where the file is damaged, has another version, or its layers read in a ring.
std::vector<IrLayer> read_ir_file(Span<const uint8_t> bytes, ImportBudget& budget);

// "1,3,?,224", as attributes have shapes and lists; what is open ("?", "-1", "1..4") is -1. Throws for what is no number.
IrShape ir_numbers(const std::string& text);

// An OpenVINO IR to a draft.

// Whether the bytes look like such a file: XML, or its beginning.
bool is_openvino(Span<const uint8_t> bytes);

// `bytes` are the .xml file, options.weights the .bin file. Problems are collected; the draft counts only if there are none.
Draft read_openvino(Span<const uint8_t> bytes, const ReadOptions& options,
                    const std::shared_ptr<ImportBudget>& budget, Problems& problems);

}  // namespace intaglio::importers
