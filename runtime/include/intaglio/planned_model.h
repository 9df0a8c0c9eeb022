// A model with the session that the build machine planned for it: constants of the program, like its code.
// `intaglio export-c --planned` writes one, after every check that Model::open and Session::create make; a
// program that starts it links no check, no plan() and no prepare(). For models that stay as they were built:
// bytes that come from elsewhere (a model store, a file, a calibration) go through Model::open.
#pragma once

#include "intaglio/session.h"

namespace intaglio {

struct OpRun;  // runtime/op.h

// What a session keeps of a node. In a planned model it is a constant, else at the start of persistent
// memory.
struct PlannedNode {
  uint32_t kept_offset;  // of what prepare() made, in `kept`; in a session of its own in persistent memory
  uint16_t kernel;       // the operator's own numbering
  uint16_t op;           // position in the list of operators
};

struct PlannedModel {
  // The bytes that it was made for, at a multiple of kModelAlignment. Nothing of them is checked again: what
  // is named here must be the array that was exported with this plan. check() compares.
  Span<const uint8_t> model;
  uint32_t crc32 = 0;
  Span<const PlannedNode> nodes;  // one a node of the model
  Span<const OpRun* const> ops;
  const uint8_t* kept = nullptr;  // at a multiple of kMemoryAlignment; nullptr where no node keeps anything
  SessionNeeds needs;             // with one thread, exact
  // The kernels that it was planned for: those that it may use, and those that the library must list, since
  // kernels are numbered by their lists.
  IsaMask isa = isa::kScalar;
  IsaMask listed = isa::kAll;

  // Whether the model's bytes are still those that were exported. Reads all of them.
  Error check() const;
};

}  // namespace intaglio
