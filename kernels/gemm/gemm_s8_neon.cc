// ARMv8 without dot products, and ARMv7. Sixteen depths of a row times a column: two products summed in int16
// (smull, smlal), these pairwise into four int32 sums (sadalp), which are added up at the end. Where a panel
// is not proved to fit (gemm_s8.h), each product goes into the int32 sums on its own.
//
// A tile's rows are copied once, to scratch [taps][k / 16 rounded up][rows][16], zeros behind the last depth.
#include "kernels/arithmetic/widen_neon.h"
#include "kernels/gemm/gemm_s8_neon_tile.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 4, kNr = 4, kKr = 16;

#if defined(__aarch64__)
constexpr int32_t kRowsAtOnce = 4;

inline int32x4_t add_across(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}
#else
constexpr int32_t kRowsAtOnce = 2;  // sixteen registers

inline int32x2_t halves(int32x4_t v) {
  const uint32x4_t sums = vreinterpretq_u32_s32(v);
  return vreinterpret_s32_u32(vadd_u32(vget_low_u32(sums), vget_high_u32(sums)));
}
inline int32x4_t add_across(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  return vcombine_s32(vpadd_s32(halves(a), halves(b)), vpadd_s32(halves(c), halves(d)));
}
#endif

// Rows past m are copies of the first: computed, not stored.
template <int32_t Rows>
void copy_rows(const GemmS8Args& args, int8_t* out) {
  const int32_t full = args.k / kKr, rest = args.k % kKr;
  const ptrdiff_t tap_bytes = static_cast<ptrdiff_t>(full + (rest != 0 ? 1 : 0)) * Rows * kKr;
  for (int32_t t = 0; t < args.taps; ++t, out += tap_bytes) {
    for (int32_t r = 0; r < Rows; ++r) {
      const int8_t* x = args.rows[static_cast<ptrdiff_t>(t) * kMr + (r < args.m ? r : 0)];
      int8_t* to = out + r * kKr;
      for (int32_t b = 0; b < full; ++b, x += kKr, to += Rows * kKr) vst1q_s8(to, vld1q_s8(x));
      if (rest != 0) vst1q_s8(to, load_some_neon(x, rest));
    }
  }
}

// Sixteen depths. x: [Rows][16], w: [4][16].
template <int32_t Rows, bool Fits>
inline void multiply_block(const int8_t* x, const int8_t* w, int32x4_t (*acc)[kNr]) {
  int8x16_t a[Rows];
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) a[r] = vld1q_s8(x + r * kKr);
#pragma GCC unroll 2
  for (int32_t pair = 0; pair < kNr; pair += 2) {
    const int8x16_t b[2] = {vld1q_s8(w + pair * kKr), vld1q_s8(w + (pair + 1) * kKr)};
#pragma GCC unroll 2
    for (int32_t j = 0; j < 2; ++j) {
      const int32_t c = pair + j;
      int16x8_t p[Rows];
#pragma GCC unroll 4
      for (int32_t r = 0; r < Rows; ++r) {
        p[r] = multiply_low_neon(a[r], b[j]);
        if (!Fits) {
          acc[r][c] = vpadalq_s16(acc[r][c], p[r]);
          p[r] = multiply_high_neon(a[r], b[j]);
        }
      }
#pragma GCC unroll 4
      for (int32_t r = 0; r < Rows; ++r) {
        if (Fits) p[r] = multiply_add_high_neon(p[r], a[r], b[j]);
      }
#pragma GCC unroll 4
      for (int32_t r = 0; r < Rows; ++r) acc[r][c] = vpadalq_s16(acc[r][c], p[r]);
    }
  }
}

// sums[r] = the four columns' sums of row r. x: [blocks][Stride][16], w: [blocks][4][16].
template <int32_t Rows, int32_t Stride, bool Fits>
inline void multiply(const int8_t* x, const int8_t* w, ptrdiff_t blocks, int32x4_t* sums) {
  int32x4_t acc[Rows][kNr];
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int32_t c = 0; c < kNr; ++c) acc[r][c] = vdupq_n_s32(0);
  const int8_t* const end = w + blocks * kNr * kKr;
  if (Fits && (blocks & 1) != 0) {
    multiply_block<Rows, Fits>(x, w, acc);
    x += Stride * kKr;
    w += kNr * kKr;
  }
  constexpr int32_t kAtOnce = Fits ? 2 : 1;
  for (; w != end; x += kAtOnce * Stride * kKr, w += kAtOnce * kNr * kKr) {
    multiply_block<Rows, Fits>(x, w, acc);
    if (Fits) multiply_block<Rows, Fits>(x + Stride * kKr, w + kNr * kKr, acc);
  }
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r) sums[r] = add_across(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
}

template <int32_t Rows, bool Fits>
void multiply_rows(const int8_t* x, const int8_t* w, ptrdiff_t blocks, int32x4_t* sums) {
  constexpr int32_t kStep = Rows < kRowsAtOnce ? Rows : kRowsAtOnce;
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; r += kStep) multiply<kStep, Rows, Fits>(x + r * kKr, w, blocks, sums + r);
}

// Whether the four columns of a panel are proved.
inline bool all_fit(const int8_t* flags) {
  uint64_t two, other;
  memcpy(&two, flags, sizeof two);
  memcpy(&other, flags + sizeof two, sizeof other);
  return (two & other) == 0x0000000100000001u;
}

template <int32_t Rows>
void tile(const GemmS8Args& args) {
  auto* const x = static_cast<int8_t*>(args.scratch);
  copy_rows<Rows>(args, x);
  const ptrdiff_t blocks = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon work = start_neon(args, kMr);
  LastPanelNeon<kNr> last;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
    if (work.columns < kNr) use_copies_neon(&work, &last);
    const int8_t* const flags = w;
    w += sizeof(int32_t) * kNr;
    int32x4_t sums[4];
    if (all_fit(flags)) {
      multiply_rows<Rows, true>(x, w, blocks, sums);
    } else {
      multiply_rows<Rows, false>(x, w, blocks, sums);
    }
    w += blocks * kNr * kKr;
    const int32x4_t bias = vld1q_s32(work.bias);
    const float32x4_t m = vld1q_f32(work.multiplier);
#pragma GCC unroll 4
    for (int32_t r = 0; r < 4; ++r) sums[r] = r < Rows ? add_wrapping_neon(sums[r], bias) : bias;
    const int8x16_t codes = requantize_neon(sums[0], sums[1], sums[2], sums[3], m, m, m, m, output);
    if (work.plain && work.columns >= kNr) {
      const int32x4_t words = vreinterpretq_s32_s8(codes);
      const int32_t w0 = vgetq_lane_s32(words, 0), w1 = vgetq_lane_s32(words, 1);
      const int32_t w2 = vgetq_lane_s32(words, 2), w3 = vgetq_lane_s32(words, 3);
      int8_t* to = work.output;
      memcpy(to, &w0, sizeof w0);
      memcpy(to += work.output_stride, &w1, sizeof w1);
      memcpy(to += work.output_stride, &w2, sizeof w2);
      memcpy(to + work.output_stride, &w3, sizeof w3);
    } else {
      store_neon<kNr>(args, 0, args.n - work.columns, codes);
    }
  }
}

}  // namespace

void gemm_s8_neon(const GemmS8Args& args);

void gemm_s8_neon(const GemmS8Args& args) {
  if (args.m == 1) return tile<1>(args);
  if (args.m == 2) return tile<2>(args);
  tile<4>(args);
}

}  // namespace intaglio
