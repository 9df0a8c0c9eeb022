// The library asks two things of a machine: which instruction sets the CPU has, and threads. Everything else is C++17.
#pragma once

#include "intaglio/isa.h"

namespace intaglio {

// The instruction sets that this CPU has and that the operating system lets programs use. It asks the CPU at each
// call and stores nothing. Also the schedule for in-order cores (isa::kNeonA53, isa::kNeonA55; AArch64 Linux), where all cores
// want it that the calling thread may run on: on big.LITTLE that is a thread which is bound to the small cores. A mask without
// that bit takes the kernels of other cores. The bytes are the same.
IsaMask cpu_isa();

// How a session spreads the work of one node over threads. The default is serial; a program may bring threads of its
// own. Results do not depend on the executor, nor on the number of threads.
struct Executor {
  // Calls task(argument, i) once for each i in [0, count), in any order, on any threads. Returns when all are done.
  // Must not throw.
  using ParallelFor = void (*)(void* context, int32_t count, void (*task)(void* argument, int32_t i),
                               void* argument);

  void* context = nullptr;             // is given to both functions
  int32_t width = 1;                   // threads that may run at once, 1 to kMaxWidth; scratch grows with it
  ParallelFor parallel_for = nullptr;  // nullptr: serial

  // Optional. A run has many nodes, so it may be faster to gather threads once. Calls body(argument, ready) with
  // threads waiting, and releases them when that returns. `ready` is the executor that the body uses.
  using Region = void (*)(void* context, void (*body)(void* argument, const Executor& ready), void* argument);
  Region region = nullptr;  // nullptr: every parallel_for gathers its own threads

  static constexpr int32_t kMaxWidth = 64;  // threads, at most
};

// An executor of OpenMP threads. It is in the library intaglio_openmp, which alone links OpenMP. `threads` is clamped
// to [1, kMaxWidth]; with 1 OpenMP is never entered.
//
// A run is one parallel region. Between its nodes workers spin for some microseconds, then yield. After it they are
// OpenMP's, and libgomp's idle workers spin. To prevent that, set OMP_WAIT_POLICY=passive in the environment before
// the program starts. If runs follow one another closely, also set GOMP_SPINCOUNT=4000, which is about 100
// microseconds. The command does both.
//
// A child of fork() has no threads but the one that forked. Where its parent has run something with several threads, the child
// works with one, to the same bytes.
Executor openmp_executor(int32_t threads);

}  // namespace intaglio
