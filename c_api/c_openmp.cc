// Belongs to the library intaglio_openmp.
#include "intaglio/c_api.h"
#include "intaglio/platform.h"

itg_executor itg_openmp_executor(int32_t threads) {
  const intaglio::Executor executor = intaglio::openmp_executor(threads);
  return {executor.context, executor.width, executor.parallel_for,
          reinterpret_cast<void (*)(void)>(executor.region)};
}
