// The products of gemm_s8_neondot.cc and gemm_s8_f32_neondot.cc.
//
// ARMv8.2 dot products. Sixteen depths of eight rows times eight columns: sdot by lane, one row's four codes being a
// lane. Rows are read where they stand.
#pragma once

#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s8_neon_tile.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 128, kNr = 8, kKr = 4;
constexpr int32_t kQuad = kNr * kKr;  // bytes of a quad's weights

// In assembly: gcc 12 copies accumulators around the intrinsic.
template <int32_t Lane>
inline int32x4_t add_dots(int32x4_t sum, int8x16_t b, int8x16_t a) {
  __asm__("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(b), "w"(a), "i"(Lane));
  return sum;
}

// acc[r] += quad `Lane` of row r times its eight columns.
template <int32_t Rows, int32_t Lane, int32_t Block = 0>
inline void add_quad(const int8x16_t* a, const int8_t* w, int32x4_t (*acc)[2]) {
  const TwoNeon b = load_two_neon<kQuad*(4 * Block + Lane)>(w);
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r) {
    acc[r][0] = add_dots<Lane>(acc[r][0], b.first, a[r]);
    acc[r][1] = add_dots<Lane>(acc[r][1], b.second, a[r]);
  }
}

// Sixteen depths of rows at `at`, or of copies.
template <int32_t Rows>
inline void load_block(const int8_t* const* x, ptrdiff_t at, int8x16_t* a) {
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r) a[r] = load_row_neon(x[r], at);
}
template <int32_t Rows>
inline void load_block(const int8_t* copies, int8x16_t* a) {
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; r += 2) {
    const TwoNeon two = load_two_neon<0>(copies + 16 * r);
    a[r] = two.first;
    a[r + 1] = two.second;
  }
}
template <int32_t Rows>
inline void add_block(const int8x16_t* a, const int8_t* w, int32x4_t (*acc)[2]) {
  add_quad<Rows, 0>(a, w, acc);
  add_quad<Rows, 1>(a, w, acc);
  add_quad<Rows, 2>(a, w, acc);
  add_quad<Rows, 3>(a, w, acc);
}

// The quads that hold the first `rest` < 16 depths; returns the weights behind them.
template <int32_t Rows>
__attribute__((always_inline)) inline const int8_t* add_end(const int8x16_t* a, const int8_t* w, int32_t rest,
                                                            int32x4_t (*acc)[2]) {
  add_quad<Rows, 0>(a, w, acc);
  if (rest > 4) add_quad<Rows, 1>(a, w, acc);
  if (rest > 8) add_quad<Rows, 2>(a, w, acc);
  if (rest > 12) add_quad<Rows, 3>(a, w, acc);
  return w + static_cast<ptrdiff_t>((rest + 3) / 4) * kQuad;
}

// Rows [row, past), so many at a time. Listed: as RowsNeon says. End, made of a call's arguments, begins a tile's work and stores
// its sums: acc[r] has a row's eight columns.
template <int32_t Rows, bool Listed, typename End, typename Args>
__attribute__((noinline)) void tiles(const Args& args, const RowsNeon& rows, int32_t row, int32_t past) {
  const RowsNeon in = rows;
  const BlocksNeon blocks = list_blocks_neon(args, in);
  const int32_t taps = args.taps;
  auto* const copies = static_cast<int8_t*>(args.scratch);
  // Without ends all taps are one run.
  const int32_t copied_taps = in.rest == 0 ? 1 : taps;
  const ptrdiff_t copied_whole = in.rest == 0 ? in.whole * taps : in.whole;
  const End finish(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += Rows) {
    const int8_t* x[Rows];
    if (!Listed && in.copied) copy_rows_neon<Rows>(args, in, kMr, row, copies);
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) x[r] = args.rows[row + r];
    auto work = finish.start(args, row);
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
      if (work.columns < kNr) use_copies_neon(&work, &last);
      int32x4_t acc[Rows][2];
#pragma GCC unroll 8
      for (int32_t r = 0; r < Rows; ++r) {
        const BiasesNeon bias = load_biases_neon(work.bias);
        acc[r][0] = bias.first;
        acc[r][1] = bias.second;
      }
      int8x16_t a[Rows];
      if (Listed) {
        const ptrdiff_t* at = blocks.first;
        for (; at != blocks.even; at += 2, w += 8 * kQuad) {
          load_block<Rows>(x, at[0], a);
          add_block<Rows>(a, w, acc);
          load_block<Rows>(x, at[1], a);
          add_block<Rows>(a, w + 4 * kQuad, acc);
        }
        if (at != blocks.past) {
          load_block<Rows>(x, *at, a);
          add_block<Rows>(a, w, acc);
          w += 4 * kQuad;
        }
        if (in.rest != 0) {
          load_ends_neon<Rows>(x, in.whole, in.load, a);
          w = add_end<Rows>(a, w, in.rest, acc);
        }
      } else if (in.copied) {
        const int8_t* from = copies;
        for (int32_t t = 0; t < copied_taps; ++t) {
          ptrdiff_t left = copied_whole;
          for (; left >= 32; left -= 32, from += 32 * Rows, w += 8 * kQuad) {
            load_block<Rows>(from, a);
            add_block<Rows>(a, w, acc);
            load_block<Rows>(from + 16 * Rows, a);
            add_block<Rows>(a, w + 4 * kQuad, acc);
          }
          if (left != 0) {
            load_block<Rows>(from, a);
            add_block<Rows>(a, w, acc);
            from += 16 * Rows;
            w += 4 * kQuad;
          }
          if (in.rest == 0) continue;
          load_block<Rows>(from, a);
          w = add_end<Rows>(a, w, in.rest, acc);
          from += 16 * Rows;
        }
      } else {
        for (int32_t t = 0; t < taps; ++t) {
          ptrdiff_t at = 0;
          if (in.table) {
            const int8_t* const* const from = args.rows + static_cast<ptrdiff_t>(t) * kMr + row;
#pragma GCC unroll 8
            for (int32_t r = 0; r < Rows; ++r) x[r] = from[r];
          } else {
            at = args.tap_offsets[t];
          }
          for (const ptrdiff_t end = at + in.whole; at != end; at += 16, w += 4 * kQuad) {
            load_block<Rows>(x, at, a);
            add_block<Rows>(a, w, acc);
          }
          if (in.rest == 0) continue;
          load_ends_neon<Rows>(x, at, in.load, a);
          w = add_end<Rows>(a, w, in.rest, acc);
        }
      }
      finish.store(args, row, work, acc);
    }
  }
}

}  // namespace
}  // namespace intaglio
