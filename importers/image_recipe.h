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

// YOLOv5's focus in front of a network that begins behind it.

// An input [1, height, width, 12] comes from a picture [1, 2 * height, 2 * width, 3], which becomes the model's input: the
// pixels of even rows and columns, of odd rows, of odd columns, and of both, three channels each. `input`: which one; empty:
// the first that has this shape. Throws where none has.
void add_focus(Draft& draft, const std::string& input);

}  // namespace intaglio::importers
