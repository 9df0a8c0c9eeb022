// The end of an import: a draft with runtime operators alone becomes a Graph.
#pragma once

#include "calibrator/bake/graph.h"
#include "importers/draft/draft.h"

namespace intaglio::importers {

// Nodes that no pass could turn into a runtime operator, and values that no model may hold, go to `problems`; the
// graph is complete only if there are none.
Graph draft_to_graph(Draft& draft, Arena& arena, Problems& problems);

}  // namespace intaglio::importers
