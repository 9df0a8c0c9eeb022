// Belongs to the library intaglio_openmp.
#include "c_api/c_handles.h"

itg_executor itg_openmp_executor(int32_t threads) {
  const intaglio::Executor executor = intaglio::openmp_executor(threads);
  return {executor.context, executor.width, executor.parallel_for,
          reinterpret_cast<decltype(itg_executor::region)>(executor.region)};
}
