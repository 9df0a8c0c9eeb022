// Loops that every instruction set's file needs: of observe_f32.h, at least for what is left over, and of patch_sums.h.
#pragma once

#include "kernels/observe/observe_f32.h"
#include "kernels/observe/patch_sums.h"

namespace intaglio {
namespace {

// The values of `bins`, each in one histogram and the next in the other.
inline void count_bins(const int32_t* bin, size_t n, const BinsF32& bins) {
  uint32_t *const counts = bins.counts, *const more = bins.more;
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    ++counts[bin[i]];
    ++more[bin[i + 1]];
  }
  if (i < n) ++counts[bin[i]];
}

inline void count_one_by_one(const float* x, size_t n, size_t stride, const BinsF32& bins) {
  constexpr size_t kBlock = 64;
  float block[kBlock];
  int32_t bin[kBlock];
  for (size_t first = 0; first < n; first += kBlock) {
    const size_t count = n - first < kBlock ? n - first : kBlock;
    for (size_t i = 0; i < count; ++i) block[i] = x[(first + i) * stride];
    for (size_t i = 0; i < count; ++i) {
      const float position = block[i] * bins.per_bin;
      const auto whole = static_cast<int32_t>(position);
      const int32_t above = position < static_cast<float>(whole) ? 1 : 0;
      const int32_t vanished = block[i] < 0.0f && position == 0.0f ? 1 : 0;
      bin[i] = bins.zero + whole - (above | vanished);
    }
    count_bins(bin, count, bins);
  }
}

}  // namespace

// The loops of patch_sums.h over a block of neighbouring channels, for the file of each instruction set.

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
