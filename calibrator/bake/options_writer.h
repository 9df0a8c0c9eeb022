// A node's options as their table of the file, whatever its operator is.
#pragma once

#include "calibrator/bake/heapless_flatbuffers.h"
#include "intaglio/node_options.h"

namespace intaglio {

// NONE and no table where all options have their defaults.
struct WrittenOptions {
  schema::Options type = schema::Options::NONE;
  flatbuffers::Offset<void> table;
};

WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, const NodeOptions& options);

}  // namespace intaglio
