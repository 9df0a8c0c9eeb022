// What the library asks of a machine. Everything else is plain C++17.
#pragma once

#include "intaglio/isa.h"

namespace intaglio {

// The instruction sets that this CPU has and that the operating system lets programs use. Asks the
// CPU each time: no state is kept.
IsaMask cpu_isa();

// How a session spreads the work of one node. The serial executor is the default; a caller may bring
// its own threads. Results do not depend on the executor or on how many threads it grants.
struct Executor {
  // Calls task(argument, i) once for each i in [0, count), in any order, on any threads, and returns
  // when all are done. Must not throw.
  using ParallelFor = void (*)(void* context, int32_t count, void (*task)(void* argument, int32_t i),
                               void* argument);

  void* context = nullptr;
  int32_t width = 1;                   // threads that may run at once, 1 to kMaxWidth; sizes the scratch
  ParallelFor parallel_for = nullptr;  // nullptr: serial

  // A run has many nodes: calls body(argument, ready) with threads at hand, whose `ready` is this executor as
  // the body shall use it, and lets them go when it returns. nullptr: every parallel_for finds its own.
  using Region = void (*)(void* context, void (*body)(void* argument, const Executor& ready), void* argument);
  Region region = nullptr;

  static constexpr int32_t kMaxWidth = 64;
};

// OpenMP threads; in the library intaglio_openmp, which alone links OpenMP. `threads` is clamped to
// [1, kMaxWidth]; with 1 OpenMP is never entered. A run is one parallel region: between its nodes workers
// spin for some microseconds, then yield; after it they are OpenMP's. libgomp's idle workers spin: set
// OMP_WAIT_POLICY=passive in the environment before the program starts, and where runs follow one another
// closely GOMP_SPINCOUNT=4000 (about 100 microseconds; waking a thread takes some ten), as the command does.
Executor openmp_executor(int32_t threads);

}  // namespace intaglio
