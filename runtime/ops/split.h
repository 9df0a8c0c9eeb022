// Cuts an operator's work into pieces that are worth a thread.
#pragma once

#include "platforms/parallel.h"

namespace intaglio {

// Calls body(first, count) for pieces of `grain` items, the last one shorter, until `items`, 1 to
// 2^31 - 1, are covered.
template <typename Body>
void for_pieces(const Executor& executor, int64_t items, int64_t grain, Body body) {
  const auto count = static_cast<int32_t>(items);
  const int32_t piece = grain < 1 ? 1 : grain < count ? static_cast<int32_t>(grain) : count;
  const int32_t pieces = count / piece + (count % piece != 0 ? 1 : 0);
  parallel_for(executor, pieces, [&](int32_t i) {
    const int32_t first = i * piece;
    body(first, count - first < piece ? count - first : piece);
  });
}

// Bytes or cheap operations of one piece: a few microseconds.
inline constexpr int32_t kPieceWork = 16384;

}  // namespace intaglio
