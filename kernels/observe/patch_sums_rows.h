// The loops of patch_sums.h over a block of neighbouring channels, for the file of each instruction set.
#pragma once

#include "kernels/observe/patch_sums.h"

namespace intaglio {

// All channels from `c` on, one by one: those after the last vector.
void patch_rest_s8_scalar(const PatchRow<int8_t>& row, int32_t c);
void patch_rest_f32_scalar(const PatchRow<float>& row, int32_t c);

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

// Channels from `c` on in blocks of kLanes; the first that is left.
template <typename Block>
int32_t patch_row_blocks(const PatchRow<typename Block::Element>& row, int32_t c, int32_t lanes) {
  for (; c + lanes <= row.channels; c += lanes) patch_row_block<Block>(row, c, lanes);
  return c;
}

// kCount vectors V, which gives Element, Sums, kLanes, zero(), widen(x), add(a, b), subtract(a, b) and
// add_to(to, sums, zeros).
template <typename V, int32_t kCount>
class PatchVectors {
 public:
  using Element = typename V::Element;
  static constexpr int32_t kLanes = kCount * V::kLanes;

  explicit PatchVectors(int32_t) {
#pragma GCC unroll 8
    for (int32_t i = 0; i < kCount; ++i) sums_[i] = V::zero();
  }
  void add(const Element* x) {
#pragma GCC unroll 8
    for (int32_t i = 0; i < kCount; ++i) sums_[i] = V::add(sums_[i], V::widen(x + i * V::kLanes));
  }
  void subtract(const Element* x) {
#pragma GCC unroll 8
    for (int32_t i = 0; i < kCount; ++i) sums_[i] = V::subtract(sums_[i], V::widen(x + i * V::kLanes));
  }
  void add_to(double* to, double zeros) const {
#pragma GCC unroll 8
    for (int32_t i = 0; i < kCount; ++i) V::add_to(to + i * V::kLanes, sums_[i], zeros);
  }

 private:
  typename V::Sums sums_[kCount];
};

// Channels from `c` on in blocks of so many; the first that is left.
template <typename Block>
int32_t patch_row_vectors(const PatchRow<typename Block::Element>& row, int32_t c) {
  return patch_row_blocks<Block>(row, c, Block::kLanes);
}

}  // namespace
}  // namespace intaglio
