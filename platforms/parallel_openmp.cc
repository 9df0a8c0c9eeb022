#include <omp.h>
#include <sys/types.h>
#include <unistd.h>

#include "platforms/team.h"

namespace intaglio {
namespace {

// The child of a process whose threads OpenMP has made has none of them, and would wait for ever: it runs without.
bool has_threads() {
  static pid_t owner = 0;
  const pid_t here = ::getpid();
  pid_t known = 0;
  return __atomic_compare_exchange_n(&owner, &known, here, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
         known == here;
}

void openmp_region(void* context, void (*body)(void* argument, const Executor& ready), void* argument) {
  const auto threads = static_cast<int32_t>(reinterpret_cast<intptr_t>(context));
  Team team;
  if (!has_threads()) return team.run_master(0, threads, body, argument);
#pragma omp parallel num_threads(threads)
  {
    const int32_t thread = omp_get_thread_num();
    if (thread > 0)
      team.run_worker(thread - 1);
    else
      team.run_master(omp_get_num_threads() - 1, threads, body, argument);
  }
}

void openmp_parallel_for(void* context, int32_t count, Team::Task task, void* argument) {
  const int threads = has_threads() ? static_cast<int>(reinterpret_cast<intptr_t>(context)) : 1;
  if (threads == 1) {
    for (int32_t i = 0; i < count; ++i) task(argument, i);
    return;
  }
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
