#include <omp.h>

#include "intaglio/platform.h"

#if defined(__unix__)
#include <sched.h>
#endif

namespace intaglio {
namespace {

using Task = void (*)(void* argument, int32_t i);

// One parallel_for at a time. The first index is the master's; the others are laid on the workers' seats,
// which each watches. A ticket is the number of the job and the seat's next index: whoever raises it has
// taken that index, the worker or, once they have nothing left, the master and the other workers. Whoever
// takes an index holds the job open until it is done, and what it has read of the job before is then sure to
// be of that one. With two threads a job moves one line of cache to the worker and back.
struct alignas(128) Seat {
  uint64_t ticket;  // job << 32 | next index
  Task task;
  void* argument;
  int32_t end;
  uint32_t done;  // of all jobs, by the worker whose seat this is
};

struct Team {
  int32_t workers;
  uint64_t job;
  uint32_t posted, taken;  // indices of all jobs: on seats; from there by the master
  alignas(128) bool over;
  Seat seats[Executor::kMaxWidth - 1];
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

// Takes indices of a seat's job until there are none; how many it took.
uint32_t work(Seat* seat) {
  for (uint32_t taken = 0;; ++taken) {
    uint64_t ticket = load(seat->ticket);
    const auto index = static_cast<int32_t>(ticket & kIndexMask);
    // In this order: an end that is not of an older job than the ticket was written after the task.
    if (index >= load(seat->end)) return taken;
    const Task task = load(seat->task);
    void* const argument = load(seat->argument);
    if (!__atomic_compare_exchange_n(&seat->ticket, &ticket, ticket + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      --taken;
      continue;
    }
    task(argument, index);
  }
}

uint32_t help(Team* team) {
  uint32_t taken = 0;
  for (int32_t w = 0; w < team->workers; ++w) taken += work(&team->seats[w]);
  return taken;
}

void team_parallel_for(void* context, int32_t count, Task task, void* argument) {
  auto* const team = static_cast<Team*>(context);
  const int32_t workers = team->workers < count - 1 ? team->workers : count - 1;
  ++team->job;
  for (int32_t w = 0, first = 1; w < workers; ++w) {
    Seat* const seat = &team->seats[w];
    const int32_t end = first + (count - first) / (workers - w);
    // Closed while it is written: no index is below an end of 0.
    store(&seat->end, 0);
    store(&seat->ticket, team->job << 32 | static_cast<uint32_t>(first));
    store(&seat->task, task);
    store(&seat->argument, argument);
    store(&seat->end, end);
    first = end;
  }
  for (int32_t i = 0; i < (workers > 0 ? 1 : count); ++i) task(argument, i);
  if (workers <= 0) return;
  team->posted += static_cast<uint32_t>(count) - 1;
  team->taken += help(team);
  const auto done = [team] {
    uint32_t sum = team->taken;
    for (int32_t w = 0; w < team->workers; ++w) sum += load(team->seats[w].done);
    return sum;
  };
  for (Patience patience; done() != team->posted;) patience.wait();
}

void sit(Team* team, Seat* seat) {
  uint32_t done = 0;
  for (Patience patience; !load(team->over);) {
    const uint32_t taken = work(seat);
    if (taken == 0) {
      patience.wait();
      continue;
    }
    store(&seat->done, done += taken);
    if (team->workers > 1) store(&seat->done, done += help(team));
    patience.spins = 0;
  }
}

void openmp_region(void* context, void (*body)(void* argument, const Executor& ready), void* argument) {
  const auto threads = static_cast<int32_t>(reinterpret_cast<intptr_t>(context));
  Team team{};
#pragma omp parallel num_threads(threads)
  {
    const int32_t thread = omp_get_thread_num();
    if (thread > 0) {
      sit(&team, &team.seats[thread - 1]);
    } else {
      team.workers = omp_get_num_threads() - 1;
      Executor ready;
      ready.context = &team;
      ready.width = threads;
      ready.parallel_for = team_parallel_for;
      body(argument, ready);
      store(&team.over, true);
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
