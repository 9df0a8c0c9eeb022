// Rows stream through: activations far below the largest live set. See docs/streaming.md.
//
//   Result<Model> by_rows = stream_rows(*Model::open(bytes));
//   Session::create(*by_rows, ...)
//
// A model file may hold a second plan of its activations (`intaglio plan`). In it segments of nodes run depth first, a few rows
// at a time, and the tensors between them stand in line buffers. The output of a node alone may overwrite rows of its input that it has
// read. Outputs are the same bytes. A program that does not call
// stream_rows() links none of this. Libraries for a Cortex-M have it where they are built with ITG_STREAMING=1; without it such a
// program does not link.
#pragma once

#include "intaglio/model.h"

namespace intaglio {

// The runner of a session by rows. Named by planned models (intaglio/planned_model.h), not by programs.
extern const Streaming kStreaming;
// A smaller one, for plans in which each node runs alone and no rows of padding are made by a Pad.
extern const Streaming kRowsAlone;

// The model by its streamed plan: sessions of it run by rows, and activation_bytes() and activation_offset() are the
// streamed plan's. A model without such a plan comes back as it is. The plan is checked: an error says which row would be read
// before it is written or after it has gone.
Result<Model> stream_rows(const Model& model);

}  // namespace intaglio
