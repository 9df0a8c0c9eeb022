#include "intaglio/platform.h"

namespace intaglio {
namespace {

void openmp_parallel_for(void* context, int32_t count, void (*task)(void* argument, int32_t i),
                         void* argument) {
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
  return executor;
}

}  // namespace intaglio
