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
// taken that index, the worker or, once they have nothing left, the master and the other workers. Whoever
// takes an index holds the job open until it is done, and what it has read of the job before is then sure to
// be of that one. With two threads a job moves one line of cache to the worker and back.
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
    uint64_t ticket;  // job << 32 | next index
    Task task;
    void* argument;
    int32_t end;
    uint32_t done;  // of all jobs, by the worker whose seat this is
  };

  // Spins for some microseconds, then lets others have the core.
  struct Patience {
    static constexpr int32_t kSpins = 1000;
    int32_t spins = 0;

    void wait() {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
#if defined(__unix__)
      if (++spins > kSpins) sched_yield();
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
      // Closed while it is written: no index is below an end of 0.
      store(&seat->end, 0);
      store(&seat->ticket, job_ << 32 | static_cast<uint32_t>(first));
      store(&seat->task, task);
      store(&seat->argument, argument);
      store(&seat->end, end);
      first = end;
    }
    for (int32_t i = 0; i < (workers > 0 ? 1 : count); ++i) task(argument, i);
    if (workers <= 0) return;
    posted_ += static_cast<uint32_t>(count) - 1;
    taken_ += help();
    for (Patience patience; done() != posted_;) patience.wait();
  }

  static constexpr uint64_t kIndexMask = 0xffffffffu;

  int32_t workers_ = 0;
  uint64_t job_ = 0;
  uint32_t posted_ = 0, taken_ = 0;  // indices of all jobs: on seats; from there by the master
  alignas(128) bool over_ = false;
  Seat seats_[Executor::kMaxWidth - 1] = {};
};

}  // namespace intaglio
