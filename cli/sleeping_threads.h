// OpenMP's idle threads sleep instead of spinning.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace intaglio {

// libgomp reads its environment before main(): its idle threads sleep, after some 100 microseconds in which
// the next run may come, only in a process that starts with this set. Starts the program once more; returns
// where that is settled already, or cannot be (results are the same). Where threads are to be bound libgomp
// has bound this one by now, and what is started anew would be left with its one CPU.
inline void restart_with_sleeping_threads(char** argv) {
  for (const char* name : {"OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (std::getenv(name) != nullptr) return;
  if (::setenv("OMP_WAIT_POLICY", "passive", 1) == 0 && ::setenv("GOMP_SPINCOUNT", "4000", 0) == 0)
    ::execv("/proc/self/exe", argv);
}

}  // namespace intaglio
