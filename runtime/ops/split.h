// Cuts an operator's work into pieces that are worth a thread.
#pragma once

#include "kernels/compiled_isa.h"
#include "platforms/parallel.h"

namespace intaglio {

// Calls body(first, count) for pieces until `items`, 1 to 2^31 - 1, are covered: one a thread, since what a
// thread has just written is near it only, and layers are cut alike. An item is worth `work` bytes or cheap
// operations; a piece takes a quarter of a microsecond and more. On a Cortex-M it is all one.
template <typename Body>
void for_pieces(const Executor& executor, int64_t items, int64_t work, Body body) {
  constexpr int32_t kLeastWork = 2048;
  const auto count = static_cast<int32_t>(items);
  if (!kPacksWeights) return body(0, count);
  int32_t piece = count;
  if (executor.parallel_for != nullptr) {
    const int32_t least = work >= kLeastWork ? 1 : kLeastWork / (work > 1 ? static_cast<int32_t>(work) : 1);
    const int32_t share = (count - 1) / executor.width + 1;
    if (share < count) piece = share > least ? share : least < count ? least : count;
  }
  parallel_for(executor, (count - 1) / piece + 1, [&](int32_t i) {
    const int32_t first = i * piece;
    body(first, count - first < piece ? count - first : piece);
  });
}

}  // namespace intaglio
