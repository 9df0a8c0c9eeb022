// Cuts an operator's work into pieces that are worth a thread.
#pragma once

#include "platforms/parallel.h"

namespace intaglio {

// Calls body(first, count) for pieces until `items`, 1 to 2^31 - 1, are covered: one a thread, since what a
// thread has just written is near it only, and layers are cut alike. An item is worth `work` bytes or cheap
// operations; a piece is at least a quarter of a microsecond.
template <typename Body>
void for_pieces(const Executor& executor, int64_t items, int64_t work, Body body) {
  constexpr int32_t kLeastWorkBits = 11;
  const auto count = static_cast<int32_t>(items);
  const int64_t worth = items * (work > 0 ? work : 1) >> kLeastWorkBits;
  int32_t pieces = executor.parallel_for == nullptr ? 1 : executor.width;
  if (worth < pieces) pieces = worth > 1 ? static_cast<int32_t>(worth) : 1;
  if (count < pieces) pieces = count;
  parallel_for(executor, pieces, [&](int32_t i) {
    const int32_t each = count / pieces, longer = count % pieces;  // so many have one more
    const int32_t first = i * each + (i < longer ? i : longer);
    body(first, each + (i < longer ? 1 : 0));
  });
}

}  // namespace intaglio
