// Cuts an operator's work into pieces that are worth a thread.
#pragma once

#include "platforms/parallel.h"

namespace intaglio {

// Calls body(first, count) for pieces until `items`, 1 to 2^31 - 1, are covered. An item is worth `work`
// bytes or cheap operations, a piece a few microseconds.
template <typename Body>
void for_pieces(const Executor& executor, int64_t items, int64_t work, Body body) {
  constexpr int32_t kPieceWork = 16384;
  const int32_t grain = work >= kPieceWork ? 1
                        : work > 1         ? kPieceWork / static_cast<int32_t>(work)
                                           : kPieceWork;
  const auto count = static_cast<int32_t>(items);
  const int32_t piece = count <= 1 ? 1 : grain < count ? grain : count;
  const int32_t pieces = count / piece + (count % piece != 0 ? 1 : 0);
  parallel_for(executor, pieces, [&](int32_t i) {
    const int32_t first = i * piece;
    body(first, count - first < piece ? count - first : piece);
  });
}

}  // namespace intaglio
