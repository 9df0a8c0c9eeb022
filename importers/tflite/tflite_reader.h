// A TFLite file's bytes to a draft.
#pragma once

#include <optional>

#include "calibrator/host/system/outcome.h"
#include "importers/draft/read_options.h"
#include "intaglio/span.h"

namespace intaglio::tflite {
struct Model;
}

namespace intaglio::importers {

bool is_tflite(Span<const uint8_t> bytes);
// Problems are collected; the draft counts only if there are none.
Draft read_tflite(Span<const uint8_t> bytes, const ReadOptions& options,
                  const std::shared_ptr<ImportBudget>& budget, Problems& problems);
// Adds what the file's metadata says of the draft's inputs, which are those of the file, in its order. Damaged
// metadata is passed over with a note: nothing of the network hangs on it.
void read_tflite_metadata(const tflite::Model& model, Draft& draft);
// The file, behind the network, that names the classes of the first output; "" where the metadata names none.
std::string label_file_name(const tflite::Model& model);

// The file that names a TFLite network's classes: metadata writers put it into a ZIP archive behind the network.

// The text, within `file`. Nothing where the metadata of the first output names no label file; a failure where the file
// that it names cannot be read. The network itself is not checked but for its structure.
Outcome<std::optional<Span<const uint8_t>>> tflite_labels(Span<const uint8_t> file);

}  // namespace intaglio::importers
