// Samples side by side, each on a lane: a session of the same model on activations of its own, for one
// thread.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/session.h"

namespace intaglio {

template <typename Bytes>
constexpr Bytes align_memory(Bytes bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// The most samples that are worked on at once; an executor of more threads splits layers where it can.
inline constexpr int32_t kMaxLanes = 8;

inline int32_t lane_count(const Executor& executor) {
  if (executor.parallel_for == nullptr) return 1;
  return executor.width < kMaxLanes ? executor.width : kMaxLanes;
}

class Lanes {
 public:
  Lanes() = default;
  // The first lane works in the session's own memory, which Session::split() has cut; `others`: bytes().
  Lanes(const SessionMemory& own, Span<uint8_t> others) : own_(own), others_(others) {}

  const SessionMemory& own() const { return own_; }  // the first lane's

  // Of the lanes but the first.
  static uint64_t bytes(const SessionNeeds& needs, int32_t lanes) {
    return static_cast<uint64_t>(lanes - 1) *
           (align_memory(needs.activation_bytes) + align_memory(needs.scratch_bytes));
  }

  // `session` as it stands on lane `i`. With the serial executor all lanes may run at once.
  Session of(const Session& session, int32_t i, const Executor& executor = {}) const;
  Span<uint8_t> scratch_of(int32_t i) const;

 private:
  SessionMemory own_;
  Span<uint8_t> others_;
};

}  // namespace intaglio
