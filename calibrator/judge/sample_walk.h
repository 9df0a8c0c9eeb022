// Samples through one model side by side, stretch by stretch, so that a layer can be changed after every
// sample has reached it and before any has run it. Each sample has activations of its own, in which it stays
// between two stretches, as far as there is memory; the others run again from the start.
#pragma once

#include "calibrator/judge/replay.h"

namespace intaglio {

// Where a sample is wanted: it stays before node `stand`, which never falls, and what lies between there and
// `node` it runs each time.
struct WalkPlace {
  int32_t stand, node;
};

class SampleWalk {
 public:
  // `walked`: the FP32 session, into which `samples` loads, or one of the int8 model; its lanes. What is left
  // in `memory` is the walk's.
  SampleWalk(Replay& samples, const FloatModel& fp32, const Session& walked, const Lanes& lanes,
             const Arena& memory)
      : samples_(&samples), fp32_(&fp32), walked_(&walked), lanes_(&lanes), memory_(memory) {}

  // Every sample stands before node 0 of the model as it is now. Only `most` of them are kept.
  void start(int32_t most = INT32_MAX);
  // Behind what the samples take.
  const Arena& rest() const { return rest_; }

  // Before bring(): sample which[lane] for each lane; -1: none.
  Error fetch(Span<const int32_t> which);
  // The session that holds what it holds for sample `i` when nodes before place.node have run. The lanes may
  // do so at once.
  Session bring(int32_t i, const WalkPlace& place, int32_t lane, const Executor& executor);
  // Both, on the first lane, with all threads.
  Result<Session> at(int32_t i, const WalkPlace& place);

 private:
  struct Live {
    int32_t tensor, written_at, last_use;
  };
  bool is_kept(int32_t i) const { return !slots_.empty() && slot_of_[static_cast<size_t>(i)] >= 0; }
  Session on_slot(int32_t i, int32_t lane, const Executor& executor) const;
  void copy_live(const Session& from, const Session& to, int32_t node) const;

  Replay* samples_;
  const FloatModel* fp32_;
  const Session* walked_;
  const Lanes* lanes_;
  Arena memory_, rest_;
  Span<Live> live_;        // activations of the model
  Span<int32_t> reached_;  // by each sample that is kept: the node it stands before; -1: it has no inputs yet
  Span<int32_t> slot_of_;  // of each sample; -1: none yet
  Span<uint8_t> slots_;    // activations of the samples kept
  size_t slot_bytes_ = 1, used_ = 0;
};

}  // namespace intaglio
