// Hands the jobs of one parallel region to worker threads, which spin for them, in a tenth of a microsecond. The caller
// owns the threads: each worker calls run_worker(), the master run_master().
#pragma once

#include <cstdint>

#include "intaglio/platform.h"

#if defined(__unix__)
#include <sched.h>
#endif

namespace intaglio {

// One parallel_for at a time. The master runs the first index, and divides the others among the workers' slots. A
// slot's ticket holds the number of the job and the next index. Whoever raises it has taken that index: the slot's
// worker, or, where that is late, the master or another worker (work stealing). A job stays open until each taken
// index is done, so what a thread has read of the job before belongs to that job.
//
// A cache line costs some 60 ns each time it moves between cores. So a slot has three: the job, which the master
// alone writes; the ticket, which stays with the worker unless another thread steals; the count of what is done. A
// job of one index a worker moves the first line to the worker and the last one back.
class Team {
 public:
  using Task = void (*)(void* argument, int32_t i);

  // Worker 0, 1, ...: takes indices until run_master() ends.
  void run_worker(int32_t worker) {
    JobSlot* const slot = &slots_[worker];
    uint32_t done = 0;
    for (Backoff backoff; !load(over_);) {
      const uint32_t taken = take_indices(slot);
      if (taken == 0) {
        backoff.wait();
        continue;
      }
      store(&slot->done, done += taken);
      if (workers_ > 1) store(&slot->done, done += steal());
      backoff.spins = 0;
    }
  }

  // The master: calls body(argument, ready) once, shares its jobs with `workers` other threads, and ends them.
  // `width` is the executor's, also where fewer threads were had.
  void run_master(int32_t workers, int32_t width, void (*body)(void* argument, const Executor& ready),
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
  struct alignas(128) JobSlot {
    uint32_t job;  // its number; 0: none, or it is being written
    int32_t first, end;
    Task task;
    void* argument;
    alignas(128) uint64_t ticket;  // job << 32 | next index; of an older job: the first one
    alignas(128) uint32_t done;    // indices of all jobs, by the slot's worker
  };

  // Spins for some microseconds, then yields the core.
  struct Backoff {
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

  // Takes indices of a slot's job until there are none; how many it took.
  static uint32_t take_indices(JobSlot* slot) {
    for (uint32_t taken = 0;; ++taken) {
      const uint32_t job = load(slot->job);
      uint64_t ticket = load(slot->ticket);
      const bool begun = ticket >> 32 == job;
      const int32_t index = begun ? static_cast<int32_t>(ticket & kIndexMask) : load(slot->first);
      if (job == 0 || index >= load(slot->end)) return taken;
      const Task task = load(slot->task);
      void* const argument = load(slot->argument);
      if (load(slot->job) != job) return taken;  // what was read is not all of one job
      fetch_ahead(argument);
      if (!__atomic_compare_exchange_n(&slot->ticket, &ticket,
                                       uint64_t{job} << 32 | static_cast<uint32_t>(index + 1), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        --taken;
        continue;
      }
      task(argument, index);
    }
  }

  // An argument is mostly pointers to values after it on the master's stack: all lines are fetched at once,
  // not one after the other.
  static void fetch_ahead(const void* argument) {
    constexpr int32_t kLines = 12, kLineBytes = 64;
    for (int32_t i = 0; i < kLines; ++i)
      __builtin_prefetch(static_cast<const char*>(argument) + kLineBytes * i);
  }

  uint32_t steal() {
    uint32_t taken = 0;
    for (int32_t w = 0; w < workers_; ++w) taken += take_indices(&slots_[w]);
    return taken;
  }

  uint32_t done() const {
    uint32_t sum = taken_;
    for (int32_t w = 0; w < workers_; ++w) sum += load(slots_[w].done);
    return sum;
  }

  void run(int32_t count, Task task, void* argument) {
    const int32_t workers = workers_ < count - 1 ? workers_ : count - 1;
    ++job_;
    for (int32_t w = 0, first = 1; w < workers; ++w) {
      JobSlot* const slot = &slots_[w];
      const int32_t end = first + (count - first) / (workers - w);
      store(&slot->job, 0u);
      store(&slot->first, first);
      store(&slot->end, end);
      store(&slot->task, task);
      store(&slot->argument, argument);
      store(&slot->job, job_);
      first = end;
    }
    for (int32_t i = 0; i < (workers > 0 ? 1 : count); ++i) task(argument, i);
    if (workers <= 0) return;
    posted_ += static_cast<uint32_t>(count) - 1;
    // Reading a ticket takes its line from the worker: not where each has one index and is in time.
    bool late = count - 1 > workers;
    for (Backoff backoff; done() != posted_; backoff.wait()) {
      if (late || backoff.spins == kLateSpins) taken_ += steal();
      late = false;
    }
  }

  static constexpr uint64_t kIndexMask = 0xffffffffu;
  static constexpr int32_t kLateSpins = 32;

  int32_t workers_ = 0;
  uint32_t job_ = 0;
  uint32_t posted_ = 0, taken_ = 0;  // indices of all jobs: in slots; taken from there by the master
  alignas(128) bool over_ = false;
  JobSlot slots_[Executor::kMaxWidth - 1] = {};
};

}  // namespace intaglio
