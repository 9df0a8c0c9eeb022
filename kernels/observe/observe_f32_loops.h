// Loops of observe_f32.h that every instruction set needs, at least for what is left over.
#pragma once

#include "kernels/observe/observe_f32.h"

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
}  // namespace intaglio
