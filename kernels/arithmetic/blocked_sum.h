// Sums of many FP32 terms, in a tree that every instruction set and thread count shares.
//
//   sum of n terms = 0 + t[0] + t[1] + ..., one rounding each           n at most `block`
//                  = the sum of the sums of its blocks of `block` terms, in order; the last may be shorter
//
// An error grows with the length of the chains, which are short so. A model from before has one block: a single chain.
#pragma once

#include <cstdint>

namespace intaglio {

inline constexpr int32_t kSumBlock = 64, kOneBlock = INT32_MAX;  // the values of `block`
inline constexpr int32_t kSumLevels = 4;                         // 64^5 terms are more than a tensor has

// Sums in progress: the block at hand, `lanes` sums side by side, and levels of `lanes` above it. Level i adds up groups of
// kSumBlock^i blocks that are whole.

// How many levels the sum of n terms has.
static inline int32_t sum_levels(int32_t n, int32_t block) {
  int32_t levels = 0;
  for (int32_t blocks = (n - 1) / block; blocks > 0; blocks /= kSumBlock) ++levels;
  return levels;
}

// The block at hand is whole, the `blocks`-th, and others follow. It becomes 0.
void add_block(int32_t blocks, float* block, float* levels, int32_t lanes);

// Makes the whole sum of the last block, behind `blocks` others.
void add_levels(int32_t blocks, float* block, float* levels, int32_t lanes);

// One sum of n terms, of which chain(first, end) adds up a block from 0.
template <typename Chain>
static inline float sum_in_blocks(int32_t n, int32_t block, Chain chain) {
  float levels[kSumLevels];
  int32_t first = 0;
  for (int32_t blocks = 0;; first += block) {
    const bool is_last = n - first <= block;
    float sum = chain(first, is_last ? n : first + block);
    if (!is_last) {
      add_block(++blocks, &sum, levels, 1);
      continue;
    }
    add_levels(blocks, &sum, levels, 1);
    return sum;
  }
}

}  // namespace intaglio
