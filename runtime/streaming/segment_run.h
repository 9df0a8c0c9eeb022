// Runs a segment of a streamed plan: the clock goes on a band at a time, and each node makes the rows that are due.
#pragma once

#include "intaglio/session.h"
#include "runtime/op.h"

namespace intaglio {

// As Streaming says.
void run_streamed_nodes(const Session& session, const NodeRun& run, int32_t first, int32_t last);
uint8_t* place_of_fed_row(const Session& session, const NodeRun& run, int32_t row);

}  // namespace intaglio
