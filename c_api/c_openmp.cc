// Belongs to the library intaglio_openmp.
#include "c_api/c_handles.h"

using namespace intaglio;

namespace {

struct Region {
  void (*body)(void* argument, const itg_executor* ready);
  void* argument;
};

void body_of_region(void* argument, const Executor& ready) {
  const Region& region = *static_cast<const Region*>(argument);
  itg_executor executor{};
  executor.struct_size = sizeof executor;
  executor.context = ready.context;
  executor.width = ready.width;
  executor.parallel_for = ready.parallel_for;
  region.body(region.argument, &executor);
}

void openmp_region(void* context, void (*body)(void* argument, const itg_executor* ready), void* argument) {
  Region region{body, argument};
  openmp_executor(Executor::kMaxWidth).region(context, body_of_region, &region);
}

}  // namespace

void itg_openmp_executor(itg_executor* executor, int32_t threads) {
  const Executor made = openmp_executor(threads);
  itg_executor result{};
  result.context = made.context;
  result.width = made.width;
  result.parallel_for = made.parallel_for;
  if (made.region != nullptr) result.region = openmp_region;
  give(executor, result);
}
