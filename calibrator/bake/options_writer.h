// A node's options as the table that its operator has in the file.
#pragma once

#include "calibrator/bake/graph.h"
#include "calibrator/bake/heapless_flatbuffers.h"

namespace intaglio {

struct WrittenOptions {
  schema::Options type = schema::Options::NONE;
  flatbuffers::Offset<void> table;
};

WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, const GraphNode& node);

}  // namespace intaglio
