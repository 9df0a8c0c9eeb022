// Hands the jobs of one parallel region to workers that watch for them, in a tenth of a microsecond. Whose
// threads they are is the caller's business: each worker sits down, the master leads.
#pragma once

#include <cstdint>

#include "intaglio/platform.h"

#if defined(__unix__)
#include <sched.h>
#endif

namespace intaglio {

// One parallel_for at a time. The first index is the master's; the others are laid on the workers' seats,
// which each watches. A ticket is the number of the job and the seat's next index: whoever raises it has
// taken that index, the worker or, where that is late, the master and the other workers. Whoever takes an
// index holds the job open until it is done, and what it has read of the job before is then sure to be of
// that one. Lines of cache cost most, some 60 ns each way: a seat's job is in one that the master alone
// writes, its ticket in one that the worker keeps unless another takes an index, how many are done in a
// third. So a job of an index each moves the first to the worker and the last back.
class Team {
 public:
  using Task = void (*)(void* argument, int32_t i);

  // Worker 0, 1, ...: takes indices until the master has led.
  void sit(int32_t worker) {
    Seat* const seat = &seats_[worker];
    uint32_t done = 0;
    for (Patience patience; !load(over_);) {
      const uint32_t taken = work(seat);
      if (taken == 0) {
        patience.wait();
        continue;
      }
      store(&seat->done, done += taken);
      if (workers_ > 1) store(&seat->done, done += help());
      patience.spins = 0;
    }
  }

  // The master: calls body(argument, ready) once, `workers` others share its jobs, and lets them go. `width`
  // is the executor's, which a team that got fewer threads than it asked for keeps.
  void lead(int32_t workers, int32_t width, void (*body)(void* argument, const Executor& ready),
            void* argument) {
    workers_ = workers;
    Executor ready;
    ready.context = this;
    ready.width = width;
    ready.parallel_for = [](void* context, int32_t count, Task task, void* of_task) {
      static_cast<Team*>(context)->run(count, task, of_task);
    };
    body(argument, ready);
    store(&over_, true);
  }

 private:
  struct alignas(128) Seat {
    uint32_t job;  // its number; 0: none, or it is being written
    int32_t first, end;
    Task task;
    void* argument;
    alignas(128) uint64_t ticket;  // job << 32 | next index; of an older job: the first one
    alignas(128) uint32_t done;    // of all jobs, by the worker whose seat this is
  };

  // Spins for some microseconds, then lets others have the core.
  struct Patience {
    static constexpr int32_t kSpins = 1000;
    int32_t spins = 0;

    void wait() {
      ++spins;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
#if defined(__unix__)
      if (spins > kSpins) {
        spins = kSpins;
        sched_yield();
      }
#endif
    }
  };

  template <typename T>
  static T load(const T& v) {
    return __atomic_load_n(&v, __ATOMIC_ACQUIRE);
  }
  template <typename T>
  static void store(T* v, T value) {
    __atomic_store_n(v, value, __ATOMIC_RELEASE);
  }

  // Takes indices of a seat's job until there are none; how many it took.
  static uint32_t work(Seat* seat) {
    for (uint32_t taken = 0;; ++taken) {
      const uint32_t job = load(seat->job);
      uint64_t ticket = load(seat->ticket);
      const bool begun = ticket >> 32 == job;
      const int32_t index = begun ? static_cast<int32_t>(ticket & kIndexMask) : load(seat->first);
      if (job == 0 || index >= load(seat->end)) return taken;
      const Task task = load(seat->task);
      void* const argument = load(seat->argument);
      if (load(seat->job) != job) return taken;  // what was read is not all of one job
      fetch_ahead(argument);
      if (!__atomic_compare_exchange_n(&seat->ticket, &ticket,
                                       uint64_t{job} << 32 | static_cast<uint32_t>(index + 1), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        --taken;
        continue;
      }
      task(argument, index);
    }
  }

  // An argument is mostly pointers to what stands behind it on the master's stack: all its lines at once
  // instead of one after the other.
  static void fetch_ahead(const void* argument) {
    constexpr int32_t kLines = 12, kLineBytes = 64;
    for (int32_t i = 0; i < kLines; ++i)
      __builtin_prefetch(static_cast<const char*>(argument) + kLineBytes * i);
  }

  uint32_t help() {
    uint32_t taken = 0;
    for (int32_t w = 0; w < workers_; ++w) taken += work(&seats_[w]);
    return taken;
  }

  uint32_t done() const {
    uint32_t sum = taken_;
    for (int32_t w = 0; w < workers_; ++w) sum += load(seats_[w].done);
    return sum;
  }

  void run(int32_t count, Task task, void* argument) {
    const int32_t workers = workers_ < count - 1 ? workers_ : count - 1;
    ++job_;
    for (int32_t w = 0, first = 1; w < workers; ++w) {
      Seat* const seat = &seats_[w];
      const int32_t end = first + (count - first) / (workers - w);
      store(&seat->job, 0u);
      store(&seat->first, first);
      store(&seat->end, end);
      store(&seat->task, task);
      store(&seat->argument, argument);
      store(&seat->job, job_);
      first = end;
    }
    for (int32_t i = 0; i < (workers > 0 ? 1 : count); ++i) task(argument, i);
    if (workers <= 0) return;
    posted_ += static_cast<uint32_t>(count) - 1;
    // To look at a ticket takes its line from the worker: not where each has one index and is in time.
    bool late = count - 1 > workers;
    for (Patience patience; done() != posted_; patience.wait()) {
      if (late || patience.spins == kLateSpins) taken_ += help();
      late = false;
    }
  }

  static constexpr uint64_t kIndexMask = 0xffffffffu;
  static constexpr int32_t kLateSpins = 32;

  int32_t workers_ = 0;
  uint32_t job_ = 0;
  uint32_t posted_ = 0, taken_ = 0;  // indices of all jobs: on seats; from there by the master
  alignas(128) bool over_ = false;
  Seat seats_[Executor::kMaxWidth - 1] = {};
};

}  // namespace intaglio
