// Which format a network's file has, from its content.
#pragma once

#include "intaglio/span.h"

namespace intaglio::cli {

// "tflite", "openvino", or "onnx" of everything else. The file's first 64 bytes will do.
const char* network_format(Span<const uint8_t> bytes);

}  // namespace intaglio::cli
