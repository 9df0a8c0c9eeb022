// Rows of fewer channels than a vector has lanes, for the vector kernels. A vector holds as many whole pixels as it has room for, and
// takes their taps from one window of the row.
#pragma once

#include "kernels/resize/resize_rows.h"

namespace intaglio {

// In blocks of kLanes pixels; the last block overlaps the one before. block_of(taps) gives a block's numbers, and make(taps, pixels,
// those, place) what serves all rows for as many whole pixels as a vector holds, or that they do not fit a window: plain loops then.
// run(picks, row, y) writes a vector, past its pixels.
template <int32_t kLanes, typename T, typename Weight, typename Block, typename Make, typename Run>
static inline void for_each_of_few(const ResizeRow<T, Weight>* rows, int32_t count,
                                   void (*plain)(const ResizeRow<T, Weight>*, int32_t), Block block_of,
                                   Make make, Run run) {
  const ResizeTap<Weight>* const all = rows[0].taps;
  const int32_t channels = rows[0].channels, ow = rows[0].ow, at_once = kLanes / channels;
  for (int32_t block = 0; block < ow; block += kLanes) {
    const bool is_last = block >= ow - kLanes;
    const ResizeTap<Weight>* const tap = all + (is_last ? ow - kLanes : block);
    const auto taps = block_of(reinterpret_cast<const int32_t*>(tap));
    for (int32_t p = 0; p < kLanes; p += at_once) {
      const ptrdiff_t at = (tap - all + p) * channels;
      const auto picks = make(tap + p, at_once, taps, p);
      for (int32_t i = 0; i < count; ++i) {
        const ResizeRow<T, Weight>& r = rows[i];
        if (!picks.fit) {
          const ResizeRow<T, Weight> some = {r.top,   r.bottom, r.row_weight, tap + p,
                                             at_once, channels, r.y + at};
          plain(&some, 1);
        } else if (is_last && p + at_once == kLanes) {
          T apart[kLanes];
          run(picks, r, apart);
          memcpy(r.y + at, apart, static_cast<size_t>(at_once * channels) * sizeof(T));
        } else {
          run(picks, r, r.y + at);
        }
      }
    }
  }
}

// Elements of the input rows that the row's taps show to be there.
template <typename T, typename Weight>
static inline ptrdiff_t readable(const ResizeRow<T, Weight>& row) {
  return (ptrdiff_t{row.taps[row.ow - 1].second} + 1) * row.channels;
}
// Whether the rows are such, with elements for a window.
template <typename T, typename Weight>
static inline bool takes_windows(const ResizeRow<T, Weight>& row, int32_t lanes, int32_t window) {
  return row.channels < lanes && row.ow >= lanes && readable(row) >= window;
}

}  // namespace intaglio
