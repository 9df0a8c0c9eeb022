// All samples through the int8 model side by side, stretch by stretch, so that a layer can be changed after
// every sample has reached it and before any has run it. Each sample's live activations are kept between two
// stretches as far as there is memory; the others run again from the start.
#pragma once

#include "calibrator/int8_model.h"
#include "calibrator/replay.h"

namespace intaglio {

class SampleWalk {
 public:
  SampleWalk(Replay& samples, Session& fp32, Int8Model& int8)
      : samples_(&samples), fp32_(&fp32), int8_(&int8) {}
  // What is left in `arena` is its memory.
  void use(const Arena& arena) { memory_ = arena; }

  // Every sample stands before node 0 of the int8 model as it is now.
  void start();
  // Makes the session hold what it holds for sample `i` when nodes before `node` have run. `node` never falls
  // between two calls for a sample.
  Error bring(int32_t i, int32_t node);

 private:
  struct Live {
    int32_t tensor, written_at, last_use;
  };
  void copy_live(uint8_t* slot, int32_t node, bool save) const;
  size_t live_bytes(int32_t node) const;

  Replay* samples_;
  Session* fp32_;
  Int8Model* int8_;
  Arena memory_;
  Span<Live> live_;        // activations of the model
  Span<int32_t> reached_;  // by each sample that is kept: the node it stands before
  Span<uint8_t> slots_;
  size_t slot_bytes_ = 1;
};

}  // namespace intaglio
