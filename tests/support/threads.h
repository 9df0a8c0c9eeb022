// Runs tasks on real threads.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "intaglio/session.h"

namespace intaglio::test {

inline Executor thread_executor(int32_t width) {
  Executor executor;
  executor.width = width;
  executor.parallel_for = [](void*, int32_t count, void (*task)(void*, int32_t), void* argument) {
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < count; ++i) threads.emplace_back(task, argument, i);
    for (std::thread& thread : threads) thread.join();
  };
  return executor;
}

}  // namespace intaglio::test
