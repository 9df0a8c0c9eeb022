// ARMv8 without dot products, and ARMv7. Sixteen depths of a row times a column: two products summed in int16
// (smull, smlal), these pairwise into four int32 sums (sadalp), which are added up at the end. Where a panel
// is not proved to fit (gemm_s8.h), each product goes into the int32 sums on its own.
#include "kernels/gemm/gemm_s8_neon_products.h"
#include "kernels/gemm/gemm_s8_neon_row.h"
#include "kernels/gemm/gemm_s8_neon_store.h"

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

// Rows [row, past), so many at a time.
template <int32_t Rows>
__attribute__((noinline)) void tiles(const GemmS8Args& args, int32_t row, int32_t past) {
  const RowsNeon in = rows_neon(args, args.n);
  Tile tile = {args, in, list_blocks_neon(args, in), row, Rows * kKr};
  const ptrdiff_t blocks = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  const OutputNeon output = make_output_neon(args.requant);
  const auto residuals = make_tile_sums(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += Rows) {
    tile.row = row;
    if (in.copied) copy_rows_neon<Rows>(args, in, kMr, row, static_cast<int8_t*>(args.scratch));
    WorkNeon work = start_neon(args, output, row, kRowsStored);
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
      const float32x4_t m = vld1q_f32(work.multiplier);
#pragma GCC unroll 4
      for (int32_t r = 0; r < 4; ++r) sums[r] = r < Rows ? add_wrapping_neon(sums[r], bias) : bias;
      store_tile(args, work, row, output, residuals,
                 requantize_wide_neon(sums[0], sums[1], sums[2], sums[3], m, m, m, m, output));
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
__attribute__((noinline)) void listed_tiles(const GemmS8Args& args, const RowsNeon& rows, int32_t row,
                                            int32_t past) {
  const RowsNeon in = rows;
  const BlocksNeon blocks = list_blocks_neon(args, in);
  const OutputNeon output = make_output_neon(args.requant);
  const auto residuals = make_tile_sums(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += 4) {
    const int8_t* x[4];
#pragma GCC unroll 4
    for (int32_t r = 0; r < 4; ++r) x[r] = args.rows[row + r];
    WorkNeon work = start_neon(args, output, row, 4);
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
      if (__builtin_expect(work.columns < kNr, 0)) use_copies_neon(&work, &last);
      const int8_t* const from = w + sizeof(int32_t) * kNr;
      int32x4_t sums[4];
#pragma GCC unroll 2
      for (int32_t r = 0; r < 4; r += kRowsAtOnce)
        w = multiply_listed<kRowsAtOnce>(in, blocks, x + r, from, work.bias, sums + r);
      const float32x4_t m = vld1q_f32(work.multiplier);
      store_tile(args, work, row, output, residuals,
                 requantize_wide_neon(sums[0], sums[1], sums[2], sums[3], m, m, m, m, output));
    }
  }
}

// A row alone: four panels at a time.
__attribute__((noinline)) void single_row(const GemmS8Args& args, int32_t row) {
  const RowsNeon in = rows_neon(args, args.n);
  const Tile tile = {args, in, list_blocks_neon(args, in), row, kKr};
  const ptrdiff_t panel =
      static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr) * kNr * kKr + sizeof(int32_t) * kNr;
  if (in.copied) copy_rows_neon<1>(args, in, kMr, row, static_cast<int8_t*>(args.scratch));
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon work = start_neon(args, output, row, 1);
  LastPanelNeon<4 * kNr> last;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon<4 * kNr>(&work)) {
    if (work.columns < 4 * kNr) use_copies_neon(&work, &last);
    int32x4_t sums[4] = {};
    float32x4_t m[4];
#pragma GCC unroll 1
    for (int32_t p = 0; p < 4; ++p, w += panel) {
      if (p * kNr >= work.columns) break;
      const int8_t* const from = w + sizeof(int32_t) * kNr;
      if (all_fit(w)) {
        multiply_rows<1, true>(tile, from, sums + p);
      } else {
        multiply_rows<1, false>(tile, from, sums + p);
      }
    }
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) {
      sums[p] = add_wrapping_neon(sums[p], vld1q_s32(work.bias + p * kNr));
      m[p] = vld1q_f32(work.multiplier + p * kNr);
    }
    const int8x16_t codes =
        requantize_neon(sums[0], sums[1], sums[2], sums[3], m[0], m[1], m[2], m[3], output);
    if (work.whole) {
      vst1q_s8(work.output, codes);
    } else {
      store_neon<4 * kNr>(args, row, args.n - work.columns, codes);
    }
  }
}

#if defined(__aarch64__)

// Sixteen columns of a row, see plain_row_neon(), where every panel is proved.
class RowSums {
 public:
  RowSums(const int8_t* w, const int32_t* bias, ptrdiff_t bytes) {
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) {
      w_[p] = w + p * (bytes / 4) + sizeof(int32_t) * kNr;
#pragma GCC unroll 4
      for (int32_t c = 0; c < kNr; ++c) acc_[p][c] = load_first_lane(bias + kNr * p + c);
    }
  }
  template <int32_t Block>
  void add(int8x16_t a) {
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) multiply_block<1, true, false>(&a, w_[p] + Block * kNr * kKr, &acc_[p]);
  }
  void advance(int32_t blocks) {
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) w_[p] += blocks * kNr * kKr;
  }
  void finish(int32x4_t* sums) const {
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) sums[p] = add_across(acc_[p][0], acc_[p][1], acc_[p][2], acc_[p][3]);
  }

 private:
  const int8_t* w_[4];
  int32x4_t acc_[4][kNr];
};

__attribute__((noinline)) void plain_row_alone(const GemmS8Args& args, int32_t row) {
  plain_row_neon<RowSums>(args, row,
                          static_cast<ptrdiff_t>(args.k / kKr) * 4 * kNr * kKr + 4 * sizeof(int32_t) * kNr);
}

#else

void plain_row_alone(const GemmS8Args&, int32_t) {}

#endif

void one_row(const GemmS8Args& args, int32_t row) {
  return plain_row(args) && all_panels_fit(args) ? plain_row_alone(args, row) : single_row(args, row);
}

}  // namespace

void gemm_s8_neon(const GemmS8Args& args);

void gemm_s8_neon(const GemmS8Args& args) {
  if (args.m == 1) return one_row(args, 0);
  const int32_t whole = args.m / 4 * 4, rest = args.m - whole;
  const RowsNeon in = rows_neon(args, args.n);
  if (in.listed && whole > 0 && all_panels_fit(args)) {
    listed_tiles(args, in, 0, whole);
  } else if (whole > 0) {
    tiles<4>(args, 0, whole);
  }
  if (rest == 1) return one_row(args, whole);
  if (rest == 2) return tiles<2>(args, whole, args.m);
  if (rest == 3) tiles<4>(args, whole, args.m);
}

}  // namespace intaglio
