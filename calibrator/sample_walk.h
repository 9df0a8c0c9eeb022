// Samples through one session side by side, stretch by stretch, so that a layer can be changed after every
// sample has reached it and before any has run it. Each sample's live activations are kept between two
// stretches as far as there is memory; the others run again from the start.
#pragma once

#include "calibrator/replay.h"

namespace intaglio {

class SampleWalk {
 public:
  // `walked`: the FP32 session, into which `samples` loads, or one of the int8 model. What is left in
  // `memory` is the walk's.
  SampleWalk(Replay& samples, Session& fp32, Session& walked, const Arena& memory)
      : samples_(&samples), fp32_(&fp32), walked_(&walked), memory_(memory) {}

  // Every sample stands before node 0 of the model as it is now. Only `most` of them are kept.
  void start(int32_t most = INT32_MAX);
  // Behind what the samples take.
  const Arena& rest() const { return rest_; }
  // Makes the session hold what it holds for sample `i` when nodes before `node` have run. `node` never falls
  // between two calls for a sample.
  Error bring(int32_t i, int32_t node);

 private:
  struct Live {
    int32_t tensor, written_at, last_use;
  };
  uint8_t* slot_of(int32_t i);
  void copy_live(uint8_t* slot, int32_t node, bool save) const;
  size_t live_bytes(int32_t node) const;

  Replay* samples_;
  Session* fp32_;
  Session* walked_;
  Arena memory_, rest_;
  Span<Live> live_;        // activations of the model
  Span<int32_t> reached_;  // by each sample: the node it stands before, if it is kept
  Span<int32_t> slot_of_;  // of each sample; -1: none yet
  Span<uint8_t> slots_;
  size_t slot_bytes_ = 1, used_ = 0;
};

}  // namespace intaglio
