// `import --stream`: from a network over a whole sequence to one of a step.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Takes one row along Draft::time_axis of the first input in the place of all. What convolutions and pools look back on
// becomes states. Throws, with the node's name, where a step does not hang on this row and earlier ones alone.
void make_steps(Draft& draft);

}  // namespace intaglio::importers
