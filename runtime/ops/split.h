// Cuts an operator's work into pieces that are worth a thread.
#pragma once

#include "platforms/parallel.h"

namespace intaglio {

// Calls body(first, count) for pieces of `grain` items, the last one shorter, until `items` are covered.
template <typename Body>
void for_pieces(const Executor& executor, int64_t items, int64_t grain, Body body) {
  const int64_t piece = grain < 1 ? 1 : grain;
  const auto pieces = static_cast<int32_t>((items + piece - 1) / piece);
  parallel_for(executor, pieces, [&](int32_t i) {
    const int64_t first = i * piece;
    body(static_cast<int32_t>(first), static_cast<int32_t>(items - first < piece ? items - first : piece));
  });
}

// Bytes or cheap operations of one piece: a few microseconds.
inline constexpr int64_t kPieceWork = 16384;

}  // namespace intaglio
