#include "cli/network_format.h"

#include "importers/import.h"

namespace intaglio::cli {

const char* network_format(Span<const uint8_t> bytes) {
  if (is_tflite_file(bytes)) return "tflite";
  return is_openvino_file(bytes) ? "openvino" : "onnx";
}

}  // namespace intaglio::cli
