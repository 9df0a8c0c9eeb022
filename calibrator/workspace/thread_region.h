// The caller's executor, whose threads stay at hand over many small steps: finding them anew for each node of
// each sample costs more than the node.
#pragma once

#include "intaglio/platform.h"

namespace intaglio {

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

}  // namespace intaglio
