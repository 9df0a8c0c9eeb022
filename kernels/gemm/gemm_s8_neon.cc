#include "kernels/gemm/gemm_s8_neon_products.h"
#include "kernels/gemm/gemm_s8_neon_row.h"
#include "kernels/gemm/gemm_s8_neon_tiles.h"

namespace intaglio {
namespace {

class Codes {
 public:
  explicit Codes(const GemmS8Args& args)
      : output_(make_output_neon(args.requant)), residuals_(make_tile_sums(args)) {}

  WorkNeon start(const GemmS8Args& args, int32_t row) const {
    return start_neon(args, output_, row, kRowsStored);
  }

  __attribute__((always_inline)) void store(const GemmS8Args& args, int32_t row, const WorkNeon& work,
                                            const int32x4_t (&sums)[4]) const {
    const float32x4_t m = vld1q_f32(work.multiplier);
    store_tile(args, work, row, output_, residuals_,
               requantize_wide_neon(sums[0], sums[1], sums[2], sums[3], m, m, m, m, output_));
  }

 private:
  OutputNeon output_;
  SumsNeon<int8x16_t> residuals_;
};

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
    listed_tiles<Codes>(args, in, 0, whole);
  } else if (whole > 0) {
    tiles<4, Codes>(args, 0, whole);
  }
  if (rest == 1) return one_row(args, whole);
  if (rest == 2) return tiles<2, Codes>(args, whole, args.m);
  if (rest == 3) tiles<4, Codes>(args, whole, args.m);
}

}  // namespace intaglio
