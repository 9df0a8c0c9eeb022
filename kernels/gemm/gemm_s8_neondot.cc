// Products with dot products, int8 to int8 and to FP32.
//
// ARMv8.2 dot products. Sixteen depths of eight rows times eight columns: sdot by lane, one row's four codes being a
// lane. Rows are read where they stand.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s8_f32_neon_end.h"
#include "kernels/gemm/gemm_s8_neon_row.h"
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

template <int32_t Rows>
class Codes {
 public:
  explicit Codes(const GemmS8Args& args)
      : output_(make_output_neon(args.requant)), sums_(make_sums_neon<Rows / 2>(args)) {}

  WorkNeon start(const GemmS8Args& args, int32_t row) const { return start_neon(args, output_, row, Rows); }

  __attribute__((always_inline)) void store(const GemmS8Args& args, int32_t row, const WorkNeon& work,
                                            const int32x4_t (&acc)[Rows][2]) const {
    const float32x4_t m0 = vld1q_f32(work.multiplier), m1 = vld1q_f32(work.multiplier + 4);
    TileCodes<Rows / 2> codes;
#pragma GCC unroll 4
    for (int32_t i = 0; i < Rows / 2; ++i)
      codes.v[i] = requantize_wide_neon(acc[2 * i][0], acc[2 * i][1], acc[2 * i + 1][0], acc[2 * i + 1][1],
                                        m0, m1, m0, m1, output_);
    store_rows_neon(args, row, work, output_, sums_, codes);
  }

 private:
  OutputNeon output_;
  SumsNeon<TileCodes<Rows / 2>> sums_;
};

// One row, two panels at once: sums of even and of odd quads.
template <int32_t Panels>
inline void add_single(int8x16_t a, const int8_t* w, ptrdiff_t panel, int32x4_t (*sums)[2][2]) {
#pragma GCC unroll 2
  for (int32_t p = 0; p < Panels; ++p) {
    const int8_t* const from = w + p * panel;
    add_quad<1, 0>(&a, from, &sums[p][0]);
    add_quad<1, 1>(&a, from, &sums[p][1]);
    add_quad<1, 2>(&a, from, &sums[p][0]);
    add_quad<1, 3>(&a, from, &sums[p][1]);
  }
}

// A row's sums; the second panel may be missing.
template <int32_t Panels>
__attribute__((always_inline)) inline void sum_single(const GemmS8Args& args, const RowsNeon& in,
                                                      const int8_t* const* x, const int8_t* w,
                                                      ptrdiff_t panel, const int32_t* bias, int32x4_t* out) {
  int32x4_t sums[Panels][2][2];
#pragma GCC unroll 2
  for (int32_t p = 0; p < Panels; ++p) {
    sums[p][0][0] = vld1q_s32(bias + 8 * p);
    sums[p][0][1] = vld1q_s32(bias + 8 * p + 4);
    sums[p][1][0] = sums[p][1][1] = vdupq_n_s32(0);
  }
  for (int32_t t = 0; t < args.taps; ++t) {
    const int8_t* const row = tap_of_single_neon(args, in, x, t, kMr);
    ptrdiff_t at = 0;
    for (; at + 32 <= in.whole; at += 32, w += 8 * kQuad) {
      const TwoNeon a = load_two_neon<0>(row + at);
      add_single<Panels>(a.first, w, panel, sums);
      add_single<Panels>(a.second, w + 4 * kQuad, panel, sums);
    }
    if (at < in.whole) {
      add_single<Panels>(load_row_neon(row, at), w, panel, sums);
      at += 16;
      w += 4 * kQuad;
    }
    if (in.rest != 0) {
      int8x16_t a;
      load_ends_neon<1>(&row, at, in.copied ? 16 : in.load, &a);
      if (Panels == 2) add_end<1>(&a, w + panel, in.rest, &sums[Panels - 1][0]);
      w = add_end<1>(&a, w, in.rest, &sums[0][0]);
    }
  }
#pragma GCC unroll 2
  for (int32_t p = 0; p < Panels; ++p)
#pragma GCC unroll 2
    for (int32_t i = 0; i < 2; ++i) out[2 * p + i] = add_wrapping_neon(sums[p][0][i], sums[p][1][i]);
}

__attribute__((noinline)) void single_row(const GemmS8Args& args, int32_t row) {
  const RowsNeon in = rows_neon(args, args.n);
  const ptrdiff_t panel = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr) * kQuad;
  single_row_neon(
      args, in, kMr, row, panel,
      [&](auto panels, const int8_t* const* x, const int8_t* w, const int32_t* bias, int32x4_t* sums) {
        sum_single<decltype(panels)::kCount>(args, in, x, w, panel, bias, sums);
      });
}

// Sixteen columns of a row, see plain_row_neon(): sums of even and of odd quads.
class RowSums {
 public:
  RowSums(const int8_t* w, const int32_t* bias, ptrdiff_t bytes) : w_{w, w + bytes / 2} {
#pragma GCC unroll 2
    for (int32_t p = 0; p < 2; ++p) {
      const BiasesNeon b = load_biases_neon(bias + kNr * p);
      even_[p][0] = b.first;
      even_[p][1] = b.second;
      odd_[p][0] = odd_[p][1] = vdupq_n_s32(0);
    }
  }
  template <int32_t Block>
  void add(int8x16_t a) {
#pragma GCC unroll 2
    for (int32_t p = 0; p < 2; ++p) {
      add_quad<1, 0, Block>(&a, w_[p], &even_[p]);
      add_quad<1, 1, Block>(&a, w_[p], &odd_[p]);
      add_quad<1, 2, Block>(&a, w_[p], &even_[p]);
      add_quad<1, 3, Block>(&a, w_[p], &odd_[p]);
    }
  }
  void advance(int32_t blocks) {
    w_[0] += blocks * 4 * kQuad;
    w_[1] += blocks * 4 * kQuad;
  }
  void finish(int32x4_t* sums) const {
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) sums[i] = add_wrapping_neon(even_[i / 2][i % 2], odd_[i / 2][i % 2]);
  }

 private:
  const int8_t* w_[2];
  int32x4_t even_[2][2], odd_[2][2];
};

__attribute__((noinline)) void plain_row_alone(const GemmS8Args& args, int32_t row) {
  plain_row_neon<RowSums>(args, row, static_cast<ptrdiff_t>(args.k / kKr) * 2 * kQuad);
}

void one_row(const GemmS8Args& args, int32_t row) {
  return plain_row(args) ? plain_row_alone(args, row) : single_row(args, row);
}

}  // namespace

void gemm_s8_neondot(const GemmS8Args& args);

void gemm_s8_neondot(const GemmS8Args& args) {
  if (args.m == 1) return one_row(args, 0);
  const int32_t whole = args.m / 8 * 8, rest = args.m - whole;
  const RowsNeon in = rows_neon(args, args.n);
  const auto eights =
      in.listed ? tiles<8, true, Codes<8>, GemmS8Args> : tiles<8, false, Codes<8>, GemmS8Args>;
  const auto fours = in.listed ? tiles<4, true, Codes<4>, GemmS8Args> : tiles<4, false, Codes<4>, GemmS8Args>;
  if (whole > 0) eights(args, in, 0, whole);
  if (rest > 4) return eights(args, in, whole, args.m);
  if (rest > 1) return fours(args, in, whole, args.m);
  if (rest == 1) one_row(args, whole);
}

void gemm_s8_f32_neondot(const GemmS8F32Args& args);

// Rows past the last are read, up to a multiple of eight, and not stored.
void gemm_s8_f32_neondot(const GemmS8F32Args& args) {
  const RowsNeon in = rows_neon(args, args.n);
  const auto eights =
      in.listed ? tiles<8, true, Reals<8, 2>, GemmS8F32Args> : tiles<8, false, Reals<8, 2>, GemmS8F32Args>;
  const auto fours =
      in.listed ? tiles<4, true, Reals<4, 2>, GemmS8F32Args> : tiles<4, false, Reals<4, 2>, GemmS8F32Args>;
  const int32_t past_eights = args.m - args.m % 8, rest = args.m % 8;
  if (past_eights > 0) eights(args, in, 0, past_eights);
  if (rest > 4) return eights(args, in, past_eights, args.m);
  if (rest > 0) fours(args, in, past_eights, args.m);
}

GemvS8F32 gemv_s8_f32_neondot;

void gemv_s8_f32_neondot(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                         float* y, int32_t n, int32_t k) {
  gemv_neon(x, w, bias, multiplier, y, n, k,
            [](int32x4_t sum, int8x16_t codes, int8x16_t weights) { return vdotq_s32(sum, codes, weights); });
}

}  // namespace intaglio
