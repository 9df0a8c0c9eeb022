// The FP32 model as every stage runs it: its session, lanes for samples side by side, the caller's threads.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/calibrator.h"
#include "intaglio/platform.h"
#include "intaglio/session.h"

namespace intaglio {

// The caller's executor, whose threads stay at hand over many small steps: finding them anew for each node of
// each sample costs more than the node.
class ThreadRegion {
 public:
  // `caller` as it was given. This stays where it is from now on.
  void set(const Executor& caller) { caller_ = caller; }

  // For sessions, and for parallel_for(). Inside of hold() the threads are those that are at hand.
  Executor executor();

  // Calls body() once, with threads at hand where the caller's executor knows how.
  template <typename Body>
  void hold(Body&& body) {
    run([](void* argument) { (*static_cast<Body*>(argument))(); }, &body);
  }

 private:
  void run(void (*body)(void* argument), void* argument);

  Executor caller_;
  const Executor* ready_ = nullptr;
};

// Samples side by side, each on a lane: a session of the same model on activations of its own, for one
// thread.

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

  // For all lanes but the first.
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

// Factors that a recovery has put around a function of one variable: channel c of its node gives f(in[c] x) / out[c]. nullptr: ones.
// The factors have few distinct values, so that an int8 model needs few tables.
struct FunctionFactors {
  static constexpr int32_t kGroups = 4;  // at most

  const float* in = nullptr;
  const float* out = nullptr;

  bool empty() const { return in == nullptr && out == nullptr; }
  bool same(size_t a, size_t b) const { return before(a) == before(b) && behind(a) == behind(b); }
  float before(size_t channel) const { return in == nullptr ? 1.0f : in[channel]; }
  float behind(size_t channel) const { return out == nullptr ? 1.0f : out[channel]; }
};

// The FP32 model as it runs: its session, its lanes, and the caller's threads.
struct FloatModel {
  Model model;  // the caller's, or the one that a recovery has made of it
  Session session;
  // The reference of errors: `session`, or where that is of a model whose outputs may differ in a
  // bit, the session of the model before it.
  Session reference;
  Lanes lanes;  // of the session
  int32_t lane_count = 1;
  ThreadRegion threads;
  Executor executor;  // that of `threads`
  IsaMask isa = isa::kAll;
  Span<const FunctionFactors> functions;  // of each node of `model`; empty: none has factors

  // A session of a model with the same nodes, with this one's kernels and threads.
  Result<Session> create_session(const Model& like, const SessionMemory& memory) const;
  FunctionFactors factors_of(int32_t node) const {
    return functions.empty() ? FunctionFactors() : functions[static_cast<size_t>(node)];
  }
  // Runs nodes of `model` in a session of it. What a function with factors reads is changed: nothing else reads it.
  void run_nodes(Session& of_model, int32_t first, int32_t last) const;
  // The session on lane `i`. With the serial executor all lanes may run at once.
  Session on_lane(int32_t i, const Executor& inner = {}) const { return lanes.of(session, i, inner); }
};

// Says how far a stage has come; kCancelled where the caller cancels.
Error tell(const Progress& progress, const char* stage, int32_t done, int32_t total);

}  // namespace intaglio
