// Parts that the vector kernels of gemm_s16.h share: how panels and tiles of rows follow each other, and the sums of 64 bits.
#pragma once

#include <cstring>

#include "kernels/gemm/gemm_s16.h"

namespace intaglio {

// A tile's sums in 64 bits, where 32 could overflow. Of a kernel's own Tile, so that no symbol of it is weak.
template <typename Tile>
struct WideSumsS16 {
  static constexpr int32_t kRows = Tile::kRows, kColumns = Tile::kColumns;
  int64_t sums[kRows][kColumns];

  void clear() { memset(sums, 0, sizeof sums); }
  void add(const Tile& tile) {
    int32_t parts[kRows][kColumns];
    tile.parts(parts);
    for (int32_t r = 0; r < kRows; ++r)
      for (int32_t c = 0; c < kColumns; ++c) sums[r][c] += parts[r][c];
  }
  // The codes of the first n columns, from row `row` of the call on.
  void store(const GemmS16Args& args, int32_t row, int32_t column, int32_t n) const {
    for (int32_t r = 0; r < kRows; ++r) {
      int16_t* const y =
          args.output + static_cast<ptrdiff_t>(row + r) * static_cast<ptrdiff_t>(args.output_stride);
      for (int32_t c = column; c < column + n; ++c)
        y[c] = requantize_wide_s16(sums[r][c - column] + args.bias[c], args.multiplier[c], args.requant);
    }
  }
};

// A tile is a class with kRows rows of kColumns columns:
//   clear(bias)                     the sums become the bias, [kColumns]; nullptr: zeros
//   add(rows, w, depths)            rows [kRows] pointers; w: the panel's next depths
//   store(multiplier, requant, y, stride)   the codes of all columns, rows `stride` apart
//   parts(out)                      the sums, [kRows][kColumns]
// `kr` depths stand side by side in the panel.

template <typename Tile, int32_t kr>
static inline void run_tile_s16(const GemmS16Args& args, int32_t row, int32_t column, int32_t mr,
                                const int8_t* panel) {
  constexpr int32_t kRows = Tile::kRows, kColumns = Tile::kColumns;
  const int32_t n = args.n - column < kColumns ? args.n - column : kColumns;
  const int32_t depths = (args.k + kr - 1) / kr * kr;
  int32_t fits;
  memcpy(&fits, panel, sizeof fits);
  // A panel that is not full is computed as if it were.
  const bool is_full = n == kColumns;
  int32_t bias[kColumns] = {};
  float multiplier[kColumns] = {};
  if (!is_full) {
    memcpy(bias, args.bias + column, static_cast<size_t>(n) * sizeof bias[0]);
    memcpy(multiplier, args.multiplier + column, static_cast<size_t>(n) * sizeof multiplier[0]);
  }
  Tile tile;
  WideSumsS16<Tile> wide;
  const auto flush = [&] {
    wide.add(tile);
    tile.clear(nullptr);
  };
  if (fits == 0) wide.clear();
  tile.clear(fits == 0 ? nullptr : is_full ? args.bias + column : bias);
  const int32_t most = fits == 0 ? kGemmS16Depths : args.k;
  int32_t filled = 0;
  const int8_t* w = panel + 16;
  for (int32_t t = 0; t < args.taps; ++t, w += static_cast<ptrdiff_t>(depths) * kColumns) {
    for (int32_t i = 0; i < args.k; i += most) {
      const int32_t some = args.k - i < most ? args.k - i : most;
      if (fits == 0 && filled + some > most) {
        flush();
        filled = 0;
      }
      const int16_t* x[kRows];
      for (int32_t r = 0; r < kRows; ++r) x[r] = args.rows[static_cast<ptrdiff_t>(t) * mr + row + r] + i;
      tile.add(x, w + static_cast<ptrdiff_t>(i) * kColumns, some);
      filled += some;
    }
  }
  if (fits == 0) {
    flush();
    return wide.store(args, row, column, n);
  }
  int16_t* const y =
      args.output + static_cast<ptrdiff_t>(row) * static_cast<ptrdiff_t>(args.output_stride) + column;
  if (is_full) return tile.store(args.multiplier + column, args.requant, y, args.output_stride);
  int16_t codes[kRows][kColumns];
  tile.store(multiplier, args.requant, codes[0], kColumns);
  for (int32_t r = 0; r < kRows; ++r)
    memcpy(y + r * static_cast<ptrdiff_t>(args.output_stride), codes[r],
           static_cast<size_t>(n) * sizeof codes[0][0]);
}

// All panels; tiles of four rows, the last of which may meet some rows again, or single rows where there are fewer. Tiles of
// eight are no faster with 512 bits: four rows of two vectors already hide a product's latency.
template <template <int32_t> class Tile, int32_t kr>
static inline void run_panels_s16(const GemmS16Args& args, int32_t mr) {
  constexpr int32_t kColumns = Tile<1>::kColumns;
  const ptrdiff_t panel_bytes =
      16 + static_cast<ptrdiff_t>(args.taps) * ((args.k + kr - 1) / kr * kr) * kColumns;
  const int8_t* panel = args.weights;
  for (int32_t column = 0; column < args.n; column += kColumns, panel += panel_bytes) {
    int32_t row = 0;
    if (args.m < 4) {
      for (; row < args.m; ++row) run_tile_s16<Tile<1>, kr>(args, row, column, mr, panel);
      continue;
    }
    for (; row < args.m; row += 4)
      run_tile_s16<Tile<4>, kr>(args, row + 4 <= args.m ? row : args.m - 4, column, mr, panel);
  }
}

// Parts that the x86 kernels of gemm_s16.h share: a tile whose panel holds two depths of each column side by side, and whose
// instruction adds two products of int16 to a lane of 32 bits.

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
