// A model with the session that the build machine planned for it. Both are constants of the program, like its code.
// `intaglio export-c --planned` writes one, after every check that Model::open() and Session::create() make. A
// program that calls Session::start() links none of these checks.
//
// It is for models that are part of the program. Bytes from elsewhere go through Model::open(): a model store, a
// file, a calibration.
#pragma once

#include "intaglio/session.h"

namespace intaglio {

struct OpRun;  // runtime/op.h

// The bookkeeping of a session for a node: a constant of a planned model, else the start of persistent memory. Written by the
// library and by `intaglio export-c`, not by programs.
struct PlannedNode {
  uint32_t prepared_offset;  // where its packed weights start: in PlannedModel::prepared or persistent memory
  uint16_t kernel;           // by the operator's own numbering
  uint16_t op;               // position in the list of operators
};

// A planned model, as `intaglio export-c --planned` writes it. Its members are not to be changed.
struct PlannedModel {
  // The bytes that the plan was made for, at a multiple of kModelAlignment. They are not checked again: they must be
  // the array that was exported with this plan. check() compares.
  Span<const uint8_t> model;
  uint32_t crc32 = 0;             // of these bytes
  Span<const PlannedNode> nodes;  // one for each node of the model
  Span<const OpRun* const> ops;   // the operators that its nodes use
  // Packed weights, at a multiple of kMemoryAlignment; nullptr: there are none.
  const uint8_t* prepared = nullptr;
  SessionNeeds needs;          // exact, for one thread
  IsaMask isa = isa::kScalar;  // the instruction sets that its kernels need
  IsaMask listed = isa::kAll;  // those of the library that it was made with: kernels are numbered by them
  const Streaming* streaming = nullptr;  // &kStreaming or &kRowsAlone where the plan is the streamed one

  // Whether the model's bytes are still those that were exported (else kBadChecksum). Reads all of them.
  Error check() const;
};

}  // namespace intaglio
