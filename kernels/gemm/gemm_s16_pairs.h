// Parts that the x86 kernels of gemm_s16.h share: a tile whose panel holds two depths of each column side by side, and whose
// instruction adds two products of int16 to a lane of 32 bits.
#pragma once

#include <cstring>

#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {

// Two vectors of columns; see gemm_s16_tiles.h for what a tile is. Lanes is a kernel's own, so that no symbol is weak:
//   Sums, kWidth                        a vector of 32-bit lanes, and how many it has
//   zeros(), load(p), store(p, sums)    int32 lanes
//   widened(w)                          int16 from 2 * kWidth codes of int8
//   spread(pair)                        two codes of int16 in every lane
//   multiply_add(sums, weights, pair)
template <typename Lanes, int32_t kTileRows>
struct PairSums {
  static constexpr int32_t kRows = kTileRows, kColumns = 2 * Lanes::kWidth;
  using Sums = typename Lanes::Sums;
  Sums sums[kRows][2];

  void clear(const int32_t* bias) {
    for (int32_t v = 0; v < 2; ++v) {
      const Sums first = bias != nullptr ? Lanes::load(bias + Lanes::kWidth * v) : Lanes::zeros();
      for (int32_t r = 0; r < kRows; ++r) sums[r][v] = first;
    }
  }

  // The sums stand in registers from here to there: every loop over rows is unrolled, or arrays would stay in memory.
  void add(const int16_t* const (&rows)[kRows], const int8_t* w, int32_t depths) {
    Sums first[kRows], second[kRows];
    const int16_t* x[kRows];
#pragma GCC unroll 8
    for (int32_t r = 0; r < kRows; ++r) {
      x[r] = rows[r];
      first[r] = sums[r][0];
      second[r] = sums[r][1];
    }
    ptrdiff_t i = 0;
    for (; i + 2 <= depths; i += 2, w += 2 * kColumns) {
      const Sums w0 = Lanes::widened(w), w1 = Lanes::widened(w + kColumns);
#pragma GCC unroll 8
      for (int32_t r = 0; r < kRows; ++r) {
        int32_t pair;
        memcpy(&pair, x[r] + i, sizeof pair);
        const Sums spread = Lanes::spread(pair);
        first[r] = Lanes::multiply_add(first[r], w0, spread);
        second[r] = Lanes::multiply_add(second[r], w1, spread);
      }
    }
    if (i < depths) {
      const Sums w0 = Lanes::widened(w), w1 = Lanes::widened(w + kColumns);
#pragma GCC unroll 8
      for (int32_t r = 0; r < kRows; ++r) {
        const Sums spread = Lanes::spread(static_cast<uint16_t>(x[r][i]));
        first[r] = Lanes::multiply_add(first[r], w0, spread);
        second[r] = Lanes::multiply_add(second[r], w1, spread);
      }
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < kRows; ++r) {
      sums[r][0] = first[r];
      sums[r][1] = second[r];
    }
  }

  void parts(int32_t (&out)[kRows][kColumns]) const {
    for (int32_t r = 0; r < kRows; ++r)
      for (int32_t v = 0; v < 2; ++v) Lanes::store(out[r] + Lanes::kWidth * v, sums[r][v]);
  }
};

}  // namespace intaglio
