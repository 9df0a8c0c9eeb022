// The two formats, each from bytes to a draft. Problems are collected; the draft counts only if there are
// none.
#pragma once

#include "importers/draft.h"
#include "importers/import.h"

namespace intaglio::tflite {
struct Model;
}

namespace intaglio::importers {

// Of what a file may ask for before anything of it is looked at.
inline constexpr size_t kMaxFileNodes = 16384;
inline constexpr size_t kMaxFileEnds = 256;  // inputs, or outputs; the model format's own limit

bool is_tflite(Span<const uint8_t> bytes);
Draft read_tflite(Span<const uint8_t> bytes, const ImportOptions& options, Problems& problems);
// Adds what the file's metadata says of the draft's inputs, which are those of the file, in its order. Damaged
// metadata is passed over with a note: nothing of the network hangs on it.
void read_tflite_metadata(const tflite::Model& model, Draft& draft);
Draft read_onnx(Span<const uint8_t> bytes, const ImportOptions& options, Problems& problems);

// The shape of a model input: the user's, or the file's with what is open (below 1) filled in from the
// options. `open_names` are the file's names for open dimensions, where it has any.
Shape input_shape(const std::string& name, const Shape& in_file, const std::vector<std::string>& open_names,
                  const ImportOptions& options);
// Throws where a file has none of something or more than `limit`; `what` is plural.
void check_count(size_t count, const char* what, size_t limit);
// Throws where the user gave a shape for an input that the file does not have.
void check_shape_names(const std::vector<std::string>& inputs, const ImportOptions& options);

}  // namespace intaglio::importers
