// A row alone of the NEON gemm kernels: a fully connected layer of one sample, the last pixel of a map. AArch64 alone.
#pragma once

#include "kernels/gemm/gemm_s8_neon_tile.h"

#if defined(__aarch64__)

namespace intaglio {

// A row alone that plain_row_neon() takes.
static inline bool plain_row(const GemmS8Args& args) {
  return args.taps == 1 && args.k % 16 == 0 && args.n % 16 == 0 && args.residual == nullptr;
}

// Sixteen columns at a time. Sums(weights, bias) starts those of sixteen columns, add<Block>(a) adds the products of sixteen
// depths, `Block` sixteens of weights behind its own, advance(blocks) moves these on, finish(sums) gives the int32 sums.
template <typename Sums>
static inline void plain_row_neon(const GemmS8Args& args, int32_t row, ptrdiff_t bytes_of_sixteen_columns) {
  const OutputNeon output = make_output_neon(args.requant);
  const int32_t n = args.n, k = args.k;
  const int8_t* const x = args.rows[row];
  const int8_t *const end = x + k / 64 * 64, *const past_row = x + k;
  const int32_t* bias = args.folded_bias;
  const float* multiplier = args.multiplier;
  const auto* w = static_cast<const int8_t*>(args.weights);
  int8_t* to = args.output + static_cast<size_t>(row) * args.output_stride;
  for (int8_t* const past = to + n; to != past;
       to += 16, w += bytes_of_sixteen_columns, bias += 16, multiplier += 16) {
    Sums sums(w, bias, bytes_of_sixteen_columns);
    const int8_t* from = x;
    for (; from != end; from += 64) {
      const TwoNeon a = load_two_neon<0>(from);
      sums.template add<0>(a.first);
      sums.template add<1>(a.second);
      const TwoNeon b = load_two_neon<32>(from);
      sums.template add<2>(b.first);
      sums.template add<3>(b.second);
      sums.advance(4);
    }
    for (; from != past_row; from += 16) {
      sums.template add<0>(load_end_neon<16>(from, 0));
      sums.advance(1);
    }
    int32x4_t v[4];
    sums.finish(v);
    vst1q_s8(to, requantize_neon(v[0], v[1], v[2], v[3], vld1q_f32(multiplier), vld1q_f32(multiplier + 4),
                                 vld1q_f32(multiplier + 8), vld1q_f32(multiplier + 12), output));
  }
}

// Where the row `x` of single_row_neon() is in tap t.
static inline const int8_t* tap_of_single_neon(const GemmS8Args& args, const RowsNeon& in,
                                               const int8_t* const* x, int32_t t, int32_t mr) {
  if (in.copied) return x[0] + t * (in.whole + 16);
  return args.tap_offsets != nullptr ? x[0] + args.tap_offsets[t] : x[static_cast<ptrdiff_t>(t) * mr];
}

template <int32_t Count>
struct PanelsNeon {
  static constexpr int32_t kCount = Count;
};

// A row alone, sixteen columns, two panels, at a time: a fully connected layer of one sample, the last pixel of a map.
// sum(panels, rows, weights, bias, sums): the int32 sums of `panels` panels, two vectors each. `rows` is the first tap's
// entry, or points at the address of the copy; those that can be read in place are. A panel has `panel_bytes`.
template <typename Sum>
static inline void single_row_neon(const GemmS8Args& args, const RowsNeon& in, int32_t mr, int32_t row,
                                   ptrdiff_t panel_bytes, Sum sum) {
  const int8_t* const* x = args.rows + row;
  const auto* const copies = static_cast<const int8_t*>(args.scratch);
  if (in.copied) {
    copy_rows_neon<1>(args, in, mr, row, static_cast<int8_t*>(args.scratch));
    x = &copies;
  }
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon work = start_neon(args, output, row, 1);
  LastPanelNeon<16> last;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon<16>(&work), w += 2 * panel_bytes) {
    if (work.columns < 16) use_copies_neon(&work, &last);
    int32x4_t sums[4];
    if (work.columns > 8) {
      sum(PanelsNeon<2>(), x, w, work.bias, sums);
    } else {
      sum(PanelsNeon<1>(), x, w, work.bias, sums);
      sums[2] = sums[3] = sums[0];
    }
    const int8x16_t codes = requantize_neon(sums[0], sums[1], sums[2], sums[3], vld1q_f32(work.multiplier),
                                            vld1q_f32(work.multiplier + 4), vld1q_f32(work.multiplier + 8),
                                            vld1q_f32(work.multiplier + 12), output);
    if (work.whole) {
      vst1q_s8(work.output, codes);
    } else {
      store_neon<16>(args, row, args.n - work.columns, codes);
    }
  }
}

}  // namespace intaglio

#else

namespace intaglio {

// Sixteen registers hold no sums of sixteen columns.
static inline bool plain_row(const GemmS8Args&) { return false; }

}  // namespace intaglio

#endif
