// The user's image preprocessing as part of the model.
#pragma once

#include "calibrator/graph.h"
#include "importers/import.h"

namespace intaglio::importers {

// Throws ImportError where no input fits or a value is not usable.
void add_image_input(const ImagePreprocessing& wanted, Graph& graph, Arena& arena);

}  // namespace intaglio::importers
