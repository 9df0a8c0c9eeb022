// The file that names a TFLite network's classes: metadata writers put it into a ZIP archive behind the network.
#pragma once

#include <optional>

#include "calibrator/host/system/outcome.h"
#include "intaglio/span.h"

namespace intaglio::importers {

// The text, within `file`. Nothing where the metadata of the first output names no label file; a failure where the file
// that it names cannot be read. The network itself is not checked but for its structure.
Outcome<std::optional<Span<const uint8_t>>> tflite_labels(Span<const uint8_t> file);

}  // namespace intaglio::importers
