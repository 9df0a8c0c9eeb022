// YOLOv5's focus in front of a network that begins behind it.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// An input [1, height, width, 12] comes from a picture [1, 2 * height, 2 * width, 3], which becomes the model's input: the
// pixels of even rows and columns, of odd rows, of odd columns, and of both, three channels each. `input`: which one; empty:
// the first that has this shape. Throws where none has.
void add_focus(Draft& draft, const std::string& input);

}  // namespace intaglio::importers
