// The FP32 model as it runs: its session, its lanes, and the caller's threads.
#pragma once

#include "calibrator/workspace/lanes.h"
#include "calibrator/workspace/thread_region.h"

namespace intaglio {

struct FloatModel {
  Model model;  // the caller's, or the one that a recovery has made of it
  Session session;
  // What errors are measured against: `session`, or where that is of a model whose outputs may differ in a
  // bit, the session of the model before it.
  Session reference;
  Lanes lanes;  // of the session
  int32_t lane_count = 1;
  ThreadRegion threads;
  Executor executor;  // that of `threads`
  IsaMask isa = isa::kAll;

  // The session on lane `i`. With the serial executor all lanes may run at once.
  Session on_lane(int32_t i, const Executor& inner = {}) const { return lanes.of(session, i, inner); }
};

// Sizes of the model's inputs, one behind the other.
inline size_t input_bytes(const Model& model) {
  size_t bytes = 0;
  for (const int32_t input : model.inputs()) bytes += model.tensor(input).bytes();
  return bytes;
}

}  // namespace intaglio
