// How pictures become the model's inputs, as part of the model: by the user's words, by the file's, or by the
// codes of a quantized input. Every other input takes values alone.
#pragma once

#include "calibrator/bake/graph.h"
#include "importers/draft/draft.h"
#include "importers/import.h"

namespace intaglio::importers {

// `from_file`: what the file says of its inputs. What was found without being asked for goes to `notes`.
// Throws ImportError where no input fits what was asked for, or a value is not usable.
void add_image_inputs(const std::optional<ImagePreprocessing>& wanted,
                      const std::vector<FilePicture>& from_file, Graph& graph, Arena& arena,
                      std::vector<std::string>& notes);

}  // namespace intaglio::importers
