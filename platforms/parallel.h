// Splits an operator's work over a session's executor.
#pragma once

#include <cstdint>

#include "intaglio/platform.h"

namespace intaglio {

// Calls body(i) for each i in [0, count). Debug builds of the serial path count backwards, so that
// code which needs an order fails early.
void parallel_for(const Executor& executor, int32_t count, void (*task)(void* argument, int32_t i),
                  void* argument);

template <typename Body>
void parallel_for(const Executor& executor, int32_t count, Body&& body) {
  parallel_for(
      executor, count, [](void* argument, int32_t i) { (*static_cast<Body*>(argument))(i); }, &body);
}

// Round to nearest even, subnormals kept, while it lives; the caller's mode comes back after.
class FloatMode {
 public:
  FloatMode();
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace intaglio
