#include "intaglio/platform.h"

#if defined(__unix__)
#include <sched.h>
#endif

namespace intaglio {
namespace {

using Task = void (*)(void* argument, int32_t i);

// One parallel_for at a time, for whoever of the region's threads comes by. A ticket is the number of the job
// and the next of its indices. Whoever takes an index holds the job open until it is done, and what it has
// read of the job before is then sure to be of that one.
struct Team {
  int32_t width;
  uint64_t ticket;  // job << 32 | next index
  Task task;
  void* argument;
  int32_t count, done;
  bool over;
};

constexpr uint64_t kIndexMask = 0xffffffffu;

template <typename T>
T load(const T& v) {
  return __atomic_load_n(&v, __ATOMIC_ACQUIRE);
}
template <typename T>
void store(T* v, T value) {
  __atomic_store_n(v, value, __ATOMIC_RELEASE);
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Spins for some microseconds, then lets others have the core.
struct Patience {
  static constexpr int32_t kSpins = 1000;
  int32_t spins = 0;

  void wait() {
    pause();
#if defined(__unix__)
    if (++spins > kSpins) sched_yield();
#endif
  }
};

// Takes indices of the present job until there are none; whether it took any.
bool work(Team* team) {
  bool any = false;
  for (;;) {
    uint64_t ticket = load(team->ticket);
    const auto index = static_cast<int32_t>(ticket & kIndexMask);
    // In this order: a count that is not of an older job than the ticket was written after the task.
    if (index >= load(team->count)) return any;
    const Task task = load(team->task);
    void* const argument = load(team->argument);
    if (!__atomic_compare_exchange_n(&team->ticket, &ticket, ticket + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
      continue;
    task(argument, index);
    any = true;
    __atomic_fetch_add(&team->done, 1, __ATOMIC_ACQ_REL);
  }
}

void team_parallel_for(void* context, int32_t count, Task task, void* argument) {
  auto* const team = static_cast<Team*>(context);
  // Closed while it is written: no index is below a count of 0.
  const uint64_t job = (load(team->ticket) >> 32) + 1;
  store(&team->count, 0);
  store(&team->ticket, job << 32);
  store(&team->task, task);
  store(&team->argument, argument);
  store(&team->done, 0);
  store(&team->count, count);
  work(team);
  for (Patience patience; load(team->done) < count;) patience.wait();
}

void openmp_region(void* context, void (*body)(void* argument, const Executor& ready), void* argument) {
  const auto threads = static_cast<int32_t>(reinterpret_cast<intptr_t>(context));
  Team team{};
  team.width = threads;
#pragma omp parallel num_threads(threads)
  {
    bool first = false;
#pragma omp master
    first = true;
    if (first) {
      Executor ready;
      ready.context = &team;
      ready.width = threads;
      ready.parallel_for = team_parallel_for;
      body(argument, ready);
      store(&team.over, true);
    } else {
      for (Patience patience; !load(team.over);) {
        if (work(&team)) {
          patience.spins = 0;
        } else {
          patience.wait();
        }
      }
    }
  }
}

void openmp_parallel_for(void* context, int32_t count, Task task, void* argument) {
  const int threads = static_cast<int>(reinterpret_cast<intptr_t>(context));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int32_t i = 0; i < count; ++i) task(argument, i);
}

}  // namespace

Executor openmp_executor(int32_t threads) {
  Executor executor;
  if (threads > Executor::kMaxWidth) threads = Executor::kMaxWidth;
  if (threads <= 1) return executor;
  executor.context = reinterpret_cast<void*>(static_cast<intptr_t>(threads));
  executor.width = threads;
  executor.parallel_for = openmp_parallel_for;
  executor.region = openmp_region;
  return executor;
}

}  // namespace intaglio
