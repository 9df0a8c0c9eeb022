// ARMv8.6 matrix products. smmla multiplies two rows by two columns, eight depths each.
//
// A tile's rows are copied once, to scratch [taps][k / 8 rounded up][rows / 2][2][8], zeros behind the last
// depth.
#include "kernels/gemm/gemm_s8_neon_tile.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 8, kNr = 8, kKr = 8;

// Rows past m are copies of the first: computed, not stored.
template <int32_t Pairs>
void copy_rows(const GemmS8Args& args, int8_t* out) {
  constexpr ptrdiff_t kBlock = Pairs * 16;
  const ptrdiff_t blocks = (args.k + kKr - 1) / kKr;
  for (int32_t t = 0; t < args.taps; ++t, out += blocks * kBlock) {
    const int8_t* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr;
    for (int32_t p = 0; p < Pairs; ++p) {
      const int8_t* x0 = rows[2 * p < args.m ? 2 * p : 0];
      const int8_t* x1 = rows[2 * p + 1 < args.m ? 2 * p + 1 : 0];
      int8_t* to = out + p * 16;
      int32_t left = args.k;
      for (; left >= 16; left -= 16, x0 += 16, x1 += 16, to += 2 * kBlock) {
        const int64x2_t v0 = vreinterpretq_s64_s8(vld1q_s8(x0)), v1 = vreinterpretq_s64_s8(vld1q_s8(x1));
        vst1q_s8(to, vreinterpretq_s8_s64(vzip1q_s64(v0, v1)));
        vst1q_s8(to + kBlock, vreinterpretq_s8_s64(vzip2q_s64(v0, v1)));
      }
      if (left > 0) {
        const int64x2_t v0 = vreinterpretq_s64_s8(load_some_neon(x0, left));
        const int64x2_t v1 = vreinterpretq_s64_s8(load_some_neon(x1, left));
        vst1q_s8(to, vreinterpretq_s8_s64(vzip1q_s64(v0, v1)));
        if (left > kKr) vst1q_s8(to + kBlock, vreinterpretq_s8_s64(vzip2q_s64(v0, v1)));
      }
    }
  }
}

inline int32x4_t first_row(int32x4_t left, int32x4_t right) {
  return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(left), vreinterpretq_s64_s32(right)));
}
inline int32x4_t second_row(int32x4_t left, int32x4_t right) {
  return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(left), vreinterpretq_s64_s32(right)));
}

template <int32_t Pairs>
void tile(const GemmS8Args& args) {
  auto* const lhs = static_cast<int8_t*>(args.scratch);
  copy_rows<Pairs>(args, lhs);
  const ptrdiff_t blocks = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon work = start_neon(args, 2 * Pairs);
  LastPanelNeon<kNr> last;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
    if (work.columns < kNr) use_copies_neon(&work, &last);
    // acc[p][c]: rows 2p and 2p + 1 times columns 2c and 2c + 1, row by row.
    int32x4_t acc[Pairs][4];
#pragma GCC unroll 4
    for (int32_t c = 0; c < 4; ++c) {
      const int32x2_t bias = vld1_s32(work.bias + 2 * c);
      acc[0][c] = vcombine_s32(bias, bias);
#pragma GCC unroll 4
      for (int32_t p = 1; p < Pairs; ++p) acc[p][c] = acc[0][c];
    }
    const int8_t* x = lhs;
    const int8_t* const end = w + blocks * kNr * kKr;
    do {
      int8x16_t a[Pairs], b[4];
#pragma GCC unroll 4
      for (int32_t p = 0; p < Pairs; ++p) a[p] = vld1q_s8(x + 16 * p);
      x += 16 * Pairs;
#pragma GCC unroll 4
      for (int32_t c = 0; c < 4; ++c) b[c] = vld1q_s8(w + 16 * c);
      w += kNr * kKr;
#pragma GCC unroll 4
      for (int32_t c = 0; c < 4; ++c)
#pragma GCC unroll 4
        for (int32_t p = 0; p < Pairs; ++p) acc[p][c] = vmmlaq_s32(acc[p][c], a[p], b[c]);
    } while (w != end);
    const float32x4_t m0 = vld1q_f32(work.multiplier), m1 = vld1q_f32(work.multiplier + 4);
    TileCodes<Pairs> codes;
#pragma GCC unroll 4
    for (int32_t p = 0; p < Pairs; ++p)
      codes.v[p] = requantize_neon(first_row(acc[p][0], acc[p][1]), first_row(acc[p][2], acc[p][3]),
                                   second_row(acc[p][0], acc[p][1]), second_row(acc[p][2], acc[p][3]), m0, m1,
                                   m0, m1, output);
    store_rows_neon(args, work, codes);
  }
}

}  // namespace

void gemm_s8_neoni8mm(const GemmS8Args& args);

void gemm_s8_neoni8mm(const GemmS8Args& args) {
  if (args.m <= 2) return tile<1>(args);
  if (args.m <= 4) return tile<2>(args);
  tile<4>(args);
}

}  // namespace intaglio
