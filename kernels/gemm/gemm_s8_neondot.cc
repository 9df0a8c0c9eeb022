#include "kernels/gemm/gemm_s8_neon_row.h"
#include "kernels/gemm/gemm_s8_neondot_tiles.h"

namespace intaglio {
namespace {

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

}  // namespace intaglio
