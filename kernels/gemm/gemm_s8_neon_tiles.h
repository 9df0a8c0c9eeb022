// The products of gemm_s8_neon.cc and gemm_s8_f32_neon.cc.
//
// ARMv8 without dot products, and ARMv7. Sixteen depths of a row times a column: two products summed in int16
// (smull, smlal), these pairwise into four int32 sums (sadalp), which are added up at the end. Where a panel
// is not proved to fit (gemm_s8.h), each product goes into the int32 sums on its own.
#pragma once

#include "kernels/gemm/gemm_s8_neon_products.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 128;

// Where the rows of a tile are.
struct Tile {
  const GemmS8Args& args;
  RowsNeon in;
  BlocksNeon blocks;
  int32_t row;
  ptrdiff_t copied_step;  // from sixteen depths of copies to the next
};

template <int32_t Rows, bool Fits>
inline void multiply_sixteen(const int8_t* const* x, ptrdiff_t at, const int8_t* w, int32x4_t (*acc)[kNr]) {
  int8x16_t a[Rows];
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) a[r] = load_row_neon(x[r], at);
  multiply_block<Rows, Fits, false>(a, w, acc);
}

template <int32_t Rows, bool Fits>
inline void multiply_copies(const int8_t* from, const int8_t* w, int32x4_t (*acc)[kNr]) {
  int8x16_t a[Rows];
  if (Rows == 1) a[0] = load_end_neon<16>(from, 0);
#pragma GCC unroll 2
  for (int32_t r = 0; r + 1 < Rows; r += 2) {
    const TwoNeon two = load_two_neon<0>(from + 16 * r);
    a[r] = two.first;
    a[r + 1] = two.second;
  }
  multiply_block<Rows, Fits, false>(a, w, acc);
}

// sums[r] = the four columns' sums of row r. w: [taps][blocks][4][16].
template <int32_t Rows, bool Fits>
__attribute__((always_inline)) inline void multiply(const Tile& tile, int32_t first, const int8_t* w,
                                                    int32x4_t* sums) {
  const GemmS8Args& args = tile.args;
  const RowsNeon in = tile.in;
  const int32_t taps = args.taps;
  int32x4_t acc[Rows][kNr];
  const int8_t* x[Rows];
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int32_t c = 0; c < kNr; ++c) acc[r][c] = vdupq_n_s32(0);
    x[r] = args.rows[tile.row + first + r];
  }
  if (in.copied) {
    const ptrdiff_t blocks = taps * ((args.k + kKr - 1) / kKr), step = tile.copied_step;
    const int8_t* from = static_cast<const int8_t*>(args.scratch) + first * kKr;
    const int8_t* const end = w + blocks * kNr * kKr;
    if (Fits && blocks % 2 != 0) {
      multiply_copies<Rows, Fits>(from, w, acc);
      from += step;
      w += kNr * kKr;
    }
    constexpr int32_t kAtOnce = Fits ? 2 : 1;
    for (; w != end; from += kAtOnce * step, w += kAtOnce * kNr * kKr) {
      multiply_copies<Rows, Fits>(from, w, acc);
      if (Fits) multiply_copies<Rows, Fits>(from + step, w + kNr * kKr, acc);
    }
  }
  if (in.listed) {
    const ptrdiff_t* at = tile.blocks.first;
    if (Fits) {
      for (; at != tile.blocks.even; at += 2, w += 2 * kNr * kKr) {
        multiply_sixteen<Rows, Fits>(x, at[0], w, acc);
        multiply_sixteen<Rows, Fits>(x, at[1], w + kNr * kKr, acc);
      }
    }
    for (; at != tile.blocks.past; ++at, w += kNr * kKr) multiply_sixteen<Rows, Fits>(x, *at, w, acc);
    if (in.rest != 0) multiply_end<Rows, Fits>(in, x, in.whole, w, acc);
  }
  for (int32_t t = in.listed || in.copied ? taps : 0; t < taps; ++t) {
    ptrdiff_t at = 0;
    if (in.table) {
      const int8_t* const* const from = args.rows + static_cast<ptrdiff_t>(t) * kMr + tile.row + first;
#pragma GCC unroll 4
      for (int32_t r = 0; r < Rows; ++r) x[r] = from[r];
    } else {
      at = args.tap_offsets[t];
    }
    for (const ptrdiff_t end = at + in.whole; at != end; at += kKr, w += kNr * kKr)
      multiply_sixteen<Rows, Fits>(x, at, w, acc);
    if (in.rest == 0) continue;
    multiply_end<Rows, Fits>(in, x, at, w, acc);
    w += kNr * kKr;
  }
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) sums[r] = add_across(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
}

template <int32_t Rows, bool Fits>
void multiply_rows(const Tile& tile, const int8_t* w, int32x4_t* sums) {
  constexpr int32_t kStep = Rows < kRowsAtOnce ? Rows : kRowsAtOnce;
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; r += kStep) multiply<kStep, Fits>(tile, r, w, sums + r);
}

// Rows [row, past), so many at a time. End, made of a call's arguments, begins a tile's work and stores the sums of four rows,
// biases included.
template <int32_t Rows, typename End, typename Args>
__attribute__((noinline)) void tiles(const Args& args, int32_t row, int32_t past) {
  const RowsNeon in = rows_neon(args, args.n);
  Tile tile = {args, in, list_blocks_neon(args, in), row, Rows * kKr};
  const ptrdiff_t blocks = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  const End finish(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += Rows) {
    tile.row = row;
    if (in.copied) copy_rows_neon<Rows>(args, in, kMr, row, static_cast<int8_t*>(args.scratch));
    auto work = finish.start(args, row);
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
      if (work.columns < kNr) use_copies_neon(&work, &last);
      const int8_t* const flags = w;
      w += sizeof(int32_t) * kNr;
      int32x4_t sums[4];
      if (all_fit(flags)) {
        multiply_rows<Rows, true>(tile, w, sums);
      } else {
        multiply_rows<Rows, false>(tile, w, sums);
      }
      w += blocks * kNr * kKr;
      const int32x4_t bias = vld1q_s32(work.bias);
#pragma GCC unroll 4
      for (int32_t r = 0; r < 4; ++r) sums[r] = r < Rows ? add_wrapping_neon(sums[r], bias) : bias;
      finish.store(args, row, work, sums);
    }
  }
}

// sums[r] = the four columns' sums of row r, biases included, where every panel is proved and rows have one list. Returns
// the weights behind the panel.
template <int32_t Rows>
__attribute__((always_inline)) inline const int8_t* multiply_listed(const RowsNeon& in,
                                                                    const BlocksNeon& blocks,
                                                                    const int8_t* const* x, const int8_t* w,
                                                                    const int32_t* bias, int32x4_t* sums) {
  int32x4_t acc[Rows][kNr];
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int32_t c = 0; c < kNr; ++c) acc[r][c] = load_first_lane(bias + c);
  const ptrdiff_t* at = blocks.first;
  for (; at != blocks.even; at += 2, w += 2 * kNr * kKr) {
    multiply_sixteen<Rows, true>(x, at[0], w, acc);
    multiply_sixteen<Rows, true>(x, at[1], w + kNr * kKr, acc);
  }
  if (at != blocks.past) {
    multiply_sixteen<Rows, true>(x, *at, w, acc);
    w += kNr * kKr;
  }
  if (in.rest != 0) {
    multiply_end<Rows, true>(in, x, in.whole, w, acc);
    w += kNr * kKr;
  }
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) sums[r] = add_across(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
  return w;
}

// Rows [row, past), four at a time, likewise.
template <typename End, typename Args>
__attribute__((noinline)) void listed_tiles(const Args& args, const RowsNeon& rows, int32_t row,
                                            int32_t past) {
  const RowsNeon in = rows;
  const BlocksNeon blocks = list_blocks_neon(args, in);
  const End finish(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += 4) {
    const int8_t* x[4];
#pragma GCC unroll 4
    for (int32_t r = 0; r < 4; ++r) x[r] = args.rows[row + r];
    auto work = finish.start(args, row);
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
      if (__builtin_expect(work.columns < kNr, 0)) use_copies_neon(&work, &last);
      const int8_t* const from = w + sizeof(int32_t) * kNr;
      int32x4_t sums[4];
#pragma GCC unroll 2
      for (int32_t r = 0; r < 4; r += kRowsAtOnce)
        w = multiply_listed<kRowsAtOnce>(in, blocks, x + r, from, work.bias, sums + r);
      finish.store(args, row, work, sums);
    }
  }
}

}  // namespace
}  // namespace intaglio
