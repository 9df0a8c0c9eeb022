// ARMv8.6 matrix products. smmla multiplies two rows by two columns, eight depths each. Two rows' sixteen depths are
// interleaved as they are loaded, or, where many columns read them, once a tile: in scratch
// [taps][k / 8 rounded up to even][rows / 2][2][8].
#include "kernels/gemm/gemm_s8_neon_row.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 128, kNr = 8, kKr = 8;
constexpr int32_t kBlock = kNr * kKr;  // bytes of a block's weights
constexpr int32_t kMostInPlace = 48;   // columns

inline int8x16_t lower_halves(int8x16_t a, int8x16_t b) {
  return vreinterpretq_s8_s64(vzip1q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}
inline int8x16_t upper_halves(int8x16_t a, int8x16_t b) {
  return vreinterpretq_s8_s64(vzip2q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

// Pairs of rows, interleaved.
template <int32_t Pairs>
__attribute__((noinline)) void interleave_rows(const GemmS8Args& args, const RowsNeon& in, int32_t row,
                                               int8_t* to) {
  const int32_t taps = args.taps;
  for (int32_t t = 0; t < taps; ++t) {
    const int8_t* x[2 * Pairs];
    ptrdiff_t at = 0;
    const int8_t* const* const from =
        args.rows + (args.tap_offsets == nullptr ? static_cast<ptrdiff_t>(t) * kMr : 0) + row;
    if (args.tap_offsets != nullptr) at = args.tap_offsets[t];
#pragma GCC unroll 8
    for (int32_t r = 0; r < 2 * Pairs; ++r) x[r] = from[r];
    for (const ptrdiff_t end = at + in.whole; at != end; at += 16, to += Pairs * 32)
#pragma GCC unroll 4
      for (int32_t p = 0; p < Pairs; ++p) {
        const int8x16_t a = load_row_neon(x[2 * p], at), b = load_row_neon(x[2 * p + 1], at);
        vst1q_s8(to + 16 * p, lower_halves(a, b));
        vst1q_s8(to + 16 * (Pairs + p), upper_halves(a, b));
      }
    if (in.rest == 0) continue;
    for (int32_t p = 0; p < Pairs; ++p) {
      int8x16_t a, b;
      if (in.load == 0) {
        a = load_some_neon(x[2 * p] + at, in.rest);
        b = load_some_neon(x[2 * p + 1] + at, in.rest);
      } else {
        load_ends_neon<1>(x + 2 * p, at, in.load, &a);
        load_ends_neon<1>(x + 2 * p + 1, at, in.load, &b);
      }
      vst1q_s8(to + 16 * p, lower_halves(a, b));
      if (in.rest > kKr) vst1q_s8(to + 16 * (Pairs + p), upper_halves(a, b));
    }
    to += (in.rest > kKr ? 32 : 16) * Pairs;
  }
}

// Two sums, for both rows of a pair.
inline int32x4_t load_twice(const int32_t* from) {
  int32x4_t v;
  __asm__ volatile("ld1r {%0.2d}, %1" : "=w"(v) : "Q"(*reinterpret_cast<const int32_t(*)[2]>(from)));
  return v;
}
inline int32x4_t first_row(int32x4_t left, int32x4_t right) {
  return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(left), vreinterpretq_s64_s32(right)));
}
inline int32x4_t second_row(int32x4_t left, int32x4_t right) {
  return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(left), vreinterpretq_s64_s32(right)));
}

// In assembly: gcc 12 copies accumulators around the intrinsic.
inline int32x4_t add_products(int32x4_t sum, int8x16_t a, int8x16_t b) {
  __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
}

// acc[p][c] += eight depths of rows 2p and 2p + 1 times columns 2c and 2c + 1.
template <int32_t Pairs, int32_t Offset>
inline void add_block(const int8x16_t* a, const int8_t* w, int32x4_t (*acc)[4]) {
  const TwoNeon left = load_two_neon<Offset>(w), right = load_two_neon<Offset + 32>(w);
  const int8x16_t b[4] = {left.first, left.second, right.first, right.second};
#pragma GCC unroll 4
  for (int32_t c = 0; c < 4; ++c)
#pragma GCC unroll 4
    for (int32_t p = 0; p < Pairs; ++p) acc[p][c] = add_products(acc[p][c], a[p], b[c]);
}

// The products of sixteen depths at `at`.
template <int32_t Pairs>
inline void add_sixteen(const int8_t* const* x, ptrdiff_t at, const int8_t* w, int32x4_t (*acc)[4]) {
  int8x16_t low[Pairs], high[Pairs];
#pragma GCC unroll 4
  for (int32_t p = 0; p < Pairs; ++p) {
    const int8x16_t u = load_row_neon(x[2 * p], at), v = load_row_neon(x[2 * p + 1], at);
    low[p] = lower_halves(u, v);
    high[p] = upper_halves(u, v);
  }
  add_block<Pairs, 0>(low, w, acc);
  add_block<Pairs, kBlock>(high, w, acc);
}

// Those of the last ones of a tap; returns the weights behind them.
template <int32_t Pairs>
__attribute__((always_inline)) inline const int8_t* add_end(const RowsNeon& in, const int8_t* const* x,
                                                            ptrdiff_t at, const int8_t* w,
                                                            int32x4_t (*acc)[4]) {
  int8x16_t low[Pairs], high[Pairs];
#pragma GCC unroll 4
  for (int32_t p = 0; p < Pairs; ++p) {
    int8x16_t a[2];
    load_ends_neon<2>(x + 2 * p, at, in.load, a);
    low[p] = lower_halves(a[0], a[1]);
    high[p] = upper_halves(a[0], a[1]);
  }
  add_block<Pairs, 0>(low, w, acc);
  if (in.rest <= kKr) return w + kBlock;
  add_block<Pairs, kBlock>(high, w, acc);
  return w + 2 * kBlock;
}

// The products of rows where they stand.
template <int32_t Pairs, bool Listed>
__attribute__((always_inline)) inline const int8_t* add_rows(const GemmS8Args& args, const RowsNeon& in,
                                                             const BlocksNeon& blocks, int32_t row,
                                                             const int8_t** x, const int8_t* w,
                                                             int32x4_t (*acc)[4]) {
  if (Listed) {
    const ptrdiff_t* at = blocks.first;
    for (; at != blocks.even; at += 2, w += 4 * kBlock) {
      add_sixteen<Pairs>(x, at[0], w, acc);
      add_sixteen<Pairs>(x, at[1], w + 2 * kBlock, acc);
    }
    if (at != blocks.past) {
      add_sixteen<Pairs>(x, *at, w, acc);
      w += 2 * kBlock;
    }
    return in.rest != 0 ? add_end<Pairs>(in, x, in.whole, w, acc) : w;
  }
  const int32_t taps = args.taps;
  for (int32_t t = 0; t < taps; ++t) {
    ptrdiff_t at = 0;
    if (in.table) {
      const int8_t* const* const from = args.rows + static_cast<ptrdiff_t>(t) * kMr + row;
#pragma GCC unroll 8
      for (int32_t r = 0; r < 2 * Pairs; ++r) x[r] = from[r];
    } else {
      at = args.tap_offsets[t];
    }
    for (const ptrdiff_t end = at + in.whole; at != end; at += 16, w += 2 * kBlock)
      add_sixteen<Pairs>(x, at, w, acc);
    if (in.rest != 0) w = add_end<Pairs>(in, x, at, w, acc);
  }
  return w;
}

// Rows [row, past), so many at a time. Listed: as RowsNeon says.
template <int32_t Pairs, bool Listed>
__attribute__((noinline)) void tiles(const GemmS8Args& args, const RowsNeon& rows, int32_t row,
                                     int32_t past) {
  const RowsNeon in = rows;
  auto* const lhs = static_cast<int8_t*>(args.scratch);
  BlocksNeon listed = {};
  if (!in.copied) listed = list_blocks_neon(args, in);
  const ptrdiff_t blocks = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  const OutputNeon output = make_output_neon(args.requant);
  const auto sums = make_sums_neon<Pairs>(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += 2 * Pairs) {
    const int8_t* x[2 * Pairs];
    if (!Listed && in.copied) interleave_rows<Pairs>(args, in, row, lhs);
#pragma GCC unroll 8
    for (int32_t r = 0; r < 2 * Pairs; ++r) x[r] = args.rows[row + r];
    WorkNeon work = start_neon(args, output, row, 2 * Pairs);
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
      if (work.columns < kNr) use_copies_neon(&work, &last);
      // acc[p][c]: rows 2p and 2p + 1 times columns 2c and 2c + 1, row by row.
      int32x4_t acc[Pairs][4];
#pragma GCC unroll 4
      for (int32_t c = 0; c < 4; ++c) {
        acc[0][c] = load_twice(work.bias + 2 * c);
#pragma GCC unroll 4
        for (int32_t p = 1; p < Pairs; ++p) acc[p][c] = acc[0][c];
      }
      if (!Listed && in.copied) {
        const int8_t* from = lhs;
        const int8_t* const end = w + blocks * kBlock;
        do {
          int8x16_t a[Pairs];
#pragma GCC unroll 2
          for (int32_t p = 0; p < Pairs; p += 2) {
            const TwoNeon two = load_two_neon<0>(from + 16 * p);
            a[p] = two.first;
            a[p + 1] = two.second;
          }
          add_block<Pairs, 0>(a, w, acc);
          from += 16 * Pairs;
          w += kBlock;
        } while (w != end);
      } else {
        w = add_rows<Pairs, Listed>(args, in, listed, row, x, w, acc);
      }
      const float32x4_t m0 = vld1q_f32(work.multiplier), m1 = vld1q_f32(work.multiplier + 4);
      TileCodes<Pairs> codes;
#pragma GCC unroll 4
      for (int32_t p = 0; p < Pairs; ++p)
        codes.v[p] = requantize_wide_neon(first_row(acc[p][0], acc[p][1]), first_row(acc[p][2], acc[p][3]),
                                          second_row(acc[p][0], acc[p][1]), second_row(acc[p][2], acc[p][3]),
                                          m0, m1, m0, m1, output);
      store_rows_neon(args, row, work, output, sums, codes);
    }
  }
}

// Sixteen depths of one row, whose eights stand twice in a vector each, times two panels.
template <int32_t Panels>
inline void add_single(int8x16_t a, const int8_t* w, ptrdiff_t panel, int32x4_t (*sums)[4]) {
  const int8x16_t low = lower_halves(a, a), high = upper_halves(a, a);
#pragma GCC unroll 2
  for (int32_t p = 0; p < Panels; ++p) {
    add_block<1, 0>(&low, w + p * panel, &sums[p]);
    add_block<1, kBlock>(&high, w + p * panel, &sums[p]);
  }
}

// A row's sums; the second panel may be missing.
template <int32_t Panels>
__attribute__((always_inline)) inline void sum_single(const GemmS8Args& args, const RowsNeon& in,
                                                      const int8_t* const* x, const int8_t* w,
                                                      ptrdiff_t panel, const int32_t* bias, int32x4_t* out) {
  int32x4_t sums[Panels][4];
#pragma GCC unroll 2
  for (int32_t p = 0; p < Panels; ++p)
#pragma GCC unroll 4
    for (int32_t c = 0; c < 4; ++c) sums[p][c] = load_twice(bias + 8 * p + 2 * c);
  for (int32_t t = 0; t < args.taps; ++t) {
    const int8_t* const row = tap_of_single_neon(args, in, x, t, kMr);
    ptrdiff_t at = 0;
    for (; at + 32 <= in.whole; at += 32, w += 4 * kBlock) {
      const TwoNeon a = load_two_neon<0>(row + at);
      add_single<Panels>(a.first, w, panel, sums);
      add_single<Panels>(a.second, w + 2 * kBlock, panel, sums);
    }
    if (at < in.whole) {
      add_single<Panels>(load_row_neon(row, at), w, panel, sums);
      at += 16;
      w += 2 * kBlock;
    }
    if (in.rest == 0) continue;
    int8x16_t a;
    load_ends_neon<1>(&row, at, in.copied ? 16 : in.load, &a);
    if (in.rest > kKr) {
      add_single<Panels>(a, w, panel, sums);
      w += 2 * kBlock;
    } else {
      const int8x16_t low = lower_halves(a, a);
#pragma GCC unroll 2
      for (int32_t p = 0; p < Panels; ++p) add_block<1, 0>(&low, w + p * panel, &sums[p]);
      w += kBlock;
    }
  }
#pragma GCC unroll 2
  for (int32_t p = 0; p < Panels; ++p) {
    out[2 * p] = first_row(sums[p][0], sums[p][1]);
    out[2 * p + 1] = first_row(sums[p][2], sums[p][3]);
  }
}

__attribute__((noinline)) void single_row(const GemmS8Args& args, int32_t row) {
  const RowsNeon in = rows_neon(args, args.n);
  const ptrdiff_t panel = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr) * kBlock;
  single_row_neon(
      args, in, kMr, row, panel,
      [&](auto panels, const int8_t* const* x, const int8_t* w, const int32_t* bias, int32x4_t* sums) {
        sum_single<decltype(panels)::kCount>(args, in, x, w, panel, bias, sums);
      });
}

// Sixteen columns of a row, see plain_row_neon().
class RowSums {
 public:
  RowSums(const int8_t* w, const int32_t* bias, ptrdiff_t bytes) : w_{w, w + bytes / 2} {
#pragma GCC unroll 2
    for (int32_t p = 0; p < 2; ++p)
#pragma GCC unroll 4
      for (int32_t c = 0; c < 4; ++c) sums_[p][c] = load_twice(bias + kNr * p + 2 * c);
  }
  template <int32_t Block>
  void add(int8x16_t a) {
    const int8x16_t low = lower_halves(a, a), high = upper_halves(a, a);
#pragma GCC unroll 2
    for (int32_t p = 0; p < 2; ++p) {
      add_block<1, 2 * Block * kBlock>(&low, w_[p], &sums_[p]);
      add_block<1, (2 * Block + 1) * kBlock>(&high, w_[p], &sums_[p]);
    }
  }
  void advance(int32_t blocks) {
    w_[0] += blocks * 2 * kBlock;
    w_[1] += blocks * 2 * kBlock;
  }
  void finish(int32x4_t* sums) const {
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i)
      sums[i] = first_row(sums_[i / 2][2 * (i % 2)], sums_[i / 2][2 * (i % 2) + 1]);
  }

 private:
  const int8_t* w_[2];
  int32x4_t sums_[2][4];
};

__attribute__((noinline)) void plain_row_alone(const GemmS8Args& args, int32_t row) {
  plain_row_neon<RowSums>(args, row, static_cast<ptrdiff_t>(args.k / kKr) * 2 * kBlock);
}

}  // namespace

void gemm_s8_neoni8mm(const GemmS8Args& args);

void gemm_s8_neoni8mm(const GemmS8Args& args) {
  const int32_t whole = args.m / 8 * 8, rest = args.m - whole;
  const RowsNeon in = rows_neon(args, kMostInPlace);
  const auto eights = in.listed ? tiles<4, true> : tiles<4, false>;
  const auto fours = in.listed ? tiles<2, true> : tiles<2, false>;
  if (whole > 0) eights(args, in, 0, whole);
  if (rest > 4) return eights(args, in, whole, args.m);
  if (rest > 1) return fours(args, in, whole, args.m);
  if (rest == 1) return plain_row(args) ? plain_row_alone(args, whole) : single_row(args, whole);
}

}  // namespace intaglio
