// Runs tasks on real threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "intaglio/session.h"
#include "platforms/team.h"

namespace intaglio::test {

// New ones each time, as many as there are tasks, up to `width` with the caller's own: emulators keep memory
// for every thread that ever was.
inline Executor thread_executor(int32_t width) {
  Executor executor;
  executor.width = width;
  executor.context = reinterpret_cast<void*>(static_cast<intptr_t>(width));
  executor.parallel_for = [](void* context, int32_t count, void (*task)(void*, int32_t), void* argument) {
    std::atomic<int32_t> next{0};
    const auto work = [&] {
      for (int32_t i = next++; i < count; i = next++) task(argument, i);
    };
    std::vector<std::thread> threads;
    const auto most = static_cast<int32_t>(reinterpret_cast<intptr_t>(context));
    for (int32_t i = 1; i < std::min(count, most); ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
  };
  executor.region = [](void* context, void (*body)(void*, const Executor&), void* argument) {
    const auto all = static_cast<int32_t>(reinterpret_cast<intptr_t>(context));
    Team team;
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < all - 1; ++i) threads.emplace_back([&team, i] { team.run_worker(i); });
    team.run_master(all - 1, all, body, argument);
    for (std::thread& thread : threads) thread.join();
  };
  return executor;
}

}  // namespace intaglio::test
