// The elements that one output of a pool or mean is made from, for a run of channels that lie side by side:
//   x[i * step[0] + j * step[1] + k * step[2] + channel],  i < count[0], j < count[1], k < count[2]
// in this order. A pool's window needs two levels, its valid taps alone; a mean over any axes of a tensor of
// rank 6 needs three.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio {

struct Taps {
  int32_t count[3];
  int32_t step[3];
};

static inline int32_t taps_count(const Taps& taps) { return taps.count[0] * taps.count[1] * taps.count[2]; }

// Calls visit(offset) for each tap, in order.
template <typename Visit>
static inline void for_each_tap(const Taps& taps, Visit visit) {
  for (int32_t i = 0; i < taps.count[0]; ++i)
    for (int32_t j = 0; j < taps.count[1]; ++j)
      for (int32_t k = 0; k < taps.count[2]; ++k)
        visit(static_cast<ptrdiff_t>(i) * taps.step[0] + static_cast<ptrdiff_t>(j) * taps.step[1] +
              static_cast<ptrdiff_t>(k) * taps.step[2]);
}

}  // namespace intaglio
