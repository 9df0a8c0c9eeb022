// A program's threads as the runtime's executor: each call goes through the program's struct, as large as its header has it.
#include "c_api/c_handles.h"

namespace intaglio {
namespace {

const itg_executor& in(void* context) { return *static_cast<const itg_executor*>(context); }

void for_in_c(void* context, int32_t count, void (*task)(void* argument, int32_t i), void* argument) {
  in(context).parallel_for(in(context).context, count, task, argument);
}

struct RegionBody {
  void (*body)(void* argument, const Executor& ready);
  void* argument;
};

void body_of_region(void* argument, const itg_executor* ready) {
  const RegionBody& region = *static_cast<const RegionBody*>(argument);
  region.body(region.argument, from_c(ready));
}

void region_in_c(void* context, void (*body)(void* argument, const Executor& ready), void* argument) {
  RegionBody region{body, argument};
  in(context).region(in(context).context, body_of_region, &region);
}

}  // namespace

Executor from_c(const itg_executor* executor) {
  Executor result;
  if (executor == nullptr) return result;
  result.width = executor->width;
  if (executor->parallel_for == nullptr) return result;
  result.context = const_cast<itg_executor*>(executor);
  result.parallel_for = for_in_c;
  if (knows(executor, &itg_executor::region) && executor->region != nullptr) result.region = region_in_c;
  return result;
}

}  // namespace intaglio
