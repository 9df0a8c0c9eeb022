// The loops of patch_sums.h over a block of neighbouring channels, for the file of each instruction set.
#pragma once

#include "kernels/patch_sums.h"

namespace intaglio {
namespace {

// A block: made of zeros for `lanes` channels; add() and subtract() those of one column; add_to() doubles,
// less `zeros`.
template <typename Block>
void patch_row_block(const PatchRow<typename Block::Element>& row, int32_t c, int32_t lanes) {
  const int32_t stride = row.stride;
  const auto at = [&row, c](int32_t x) { return row.x + static_cast<ptrdiff_t>(x) * row.channels + c; };
  Block phases[kPatchPhases] = {Block(lanes), Block(lanes), Block(lanes), Block(lanes)};
  for (int32_t r = 0; r < stride && stride <= kPatchPhases; ++r) {
    Block sum(lanes);
    for (int32_t x = r; x < row.width; x += stride) sum.add(at(x));
    phases[r] = sum;
  }
  for (int32_t kx = 0; kx < row.column_count; ++kx) {
    const PatchColumns columns = row.columns[kx];
    if (columns.last < columns.first) continue;
    Block tap(lanes);
    if (stride <= kPatchPhases) {
      const int32_t phase = stride == 1 ? 0 : columns.first % stride;
      tap = phases[phase];
      for (int32_t x = phase; x < columns.first; x += stride) tap.subtract(at(x));
      for (int32_t x = columns.last + stride; x < row.width; x += stride) tap.subtract(at(x));
    } else {
      for (int32_t x = columns.first; x <= columns.last; x += stride) tap.add(at(x));
    }
    const int32_t distance = columns.last - columns.first;
    const double zeros = row.zero_point * ((stride == 1 ? distance : distance / stride) + 1);
    double* const sums = row.sums + static_cast<ptrdiff_t>(kx) * row.channels + c;
    for (int32_t i = 0; i < row.tap_count; ++i) tap.add_to(sums + row.taps[i], zeros);
  }
}

// Up to kMost channels one by one.
template <typename T, typename Sum>
class PatchLanes {
 public:
  using Element = T;
  static constexpr int32_t kMost = 32;

  explicit PatchLanes(int32_t lanes) : lanes_(lanes) {}
  void add(const T* x) {
    for (int32_t l = 0; l < lanes_; ++l) sums_[l] += static_cast<Sum>(x[l]);
  }
  void subtract(const T* x) {
    for (int32_t l = 0; l < lanes_; ++l) sums_[l] -= static_cast<Sum>(x[l]);
  }
  void add_to(double* to, double zeros) const {
    for (int32_t l = 0; l < lanes_; ++l) to[l] += static_cast<double>(sums_[l]) - zeros;
  }

 private:
  int32_t lanes_;
  Sum sums_[kMost] = {};
};

// Channels from `c` on in blocks of kLanes; the first that is left.
template <typename Block>
int32_t patch_row_blocks(const PatchRow<typename Block::Element>& row, int32_t c, int32_t lanes) {
  for (; c + lanes <= row.channels; c += lanes) patch_row_block<Block>(row, c, lanes);
  return c;
}

// All channels from `c` on.
template <typename T, typename Sum>
void patch_row_rest(const PatchRow<T>& row, int32_t c) {
  using Block = PatchLanes<T, Sum>;
  c = patch_row_blocks<Block>(row, c, Block::kMost);
  if (c < row.channels) patch_row_block<Block>(row, c, row.channels - c);
}

}  // namespace
}  // namespace intaglio
