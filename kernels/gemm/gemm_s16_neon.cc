// Products of int16 with int8 weights, and of two activations.
#include <arm_neon.h>

#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s16.h"
#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {
namespace {

// Products of four int16 by one lane, added to 32 bits; the weights are widened as they are read.

template <int32_t kTileRows>
struct Tile {
  static constexpr int32_t kRows = kTileRows, kColumns = 8;
  int32x4_t sums[kRows][2];

  void clear(const int32_t* bias) {
    for (int32_t v = 0; v < 2; ++v) {
      const int32x4_t first = bias != nullptr ? vld1q_s32(bias + 4 * v) : vdupq_n_s32(0);
      for (int32_t r = 0; r < kRows; ++r) sums[r][v] = first;
    }
  }

  // The sums stand in registers from here to there: every loop over rows is unrolled, or arrays would stay in memory.
  void add(const int16_t* const (&rows)[kRows], const int8_t* w, int32_t depths) {
    int32x4_t first[kRows], second[kRows];
    int16x4_t x[kRows];
    int16x8_t wide;
#pragma GCC unroll 4
    for (int32_t r = 0; r < kRows; ++r) {
      first[r] = sums[r][0];
      second[r] = sums[r][1];
    }
    ptrdiff_t i = 0;
    for (; i + 4 <= depths; i += 4, w += 4 * kColumns) {
#pragma GCC unroll 4
      for (int32_t r = 0; r < kRows; ++r) x[r] = vld1_s16(rows[r] + i);
      wide = vmovl_s8(vld1_s8(w));
#pragma GCC unroll 4
      for (int32_t r = 0; r < kRows; ++r) {
        first[r] = vmlal_lane_s16(first[r], vget_low_s16(wide), x[r], 0);
        second[r] = vmlal_lane_s16(second[r], vget_high_s16(wide), x[r], 0);
      }
      wide = vmovl_s8(vld1_s8(w + kColumns));
#pragma GCC unroll 4
      for (int32_t r = 0; r < kRows; ++r) {
        first[r] = vmlal_lane_s16(first[r], vget_low_s16(wide), x[r], 1);
        second[r] = vmlal_lane_s16(second[r], vget_high_s16(wide), x[r], 1);
      }
      wide = vmovl_s8(vld1_s8(w + 2 * kColumns));
#pragma GCC unroll 4
      for (int32_t r = 0; r < kRows; ++r) {
        first[r] = vmlal_lane_s16(first[r], vget_low_s16(wide), x[r], 2);
        second[r] = vmlal_lane_s16(second[r], vget_high_s16(wide), x[r], 2);
      }
      wide = vmovl_s8(vld1_s8(w + 3 * kColumns));
#pragma GCC unroll 4
      for (int32_t r = 0; r < kRows; ++r) {
        first[r] = vmlal_lane_s16(first[r], vget_low_s16(wide), x[r], 3);
        second[r] = vmlal_lane_s16(second[r], vget_high_s16(wide), x[r], 3);
      }
    }
    for (; i < depths; ++i, w += kColumns) {
#pragma GCC unroll 4
      for (int32_t r = 0; r < kRows; ++r) x[r] = vdup_n_s16(rows[r][i]);
      wide = vmovl_s8(vld1_s8(w));
#pragma GCC unroll 4
      for (int32_t r = 0; r < kRows; ++r) {
        first[r] = vmlal_lane_s16(first[r], vget_low_s16(wide), x[r], 0);
        second[r] = vmlal_lane_s16(second[r], vget_high_s16(wide), x[r], 0);
      }
    }
#pragma GCC unroll 4
    for (int32_t r = 0; r < kRows; ++r) {
      sums[r][0] = first[r];
      sums[r][1] = second[r];
    }
  }

  void parts(int32_t (&out)[kRows][kColumns]) const {
    for (int32_t r = 0; r < kRows; ++r)
      for (int32_t v = 0; v < 2; ++v) vst1q_s32(out[r] + 4 * v, sums[r][v]);
  }

  void store(const float* multiplier, const OutputS16& requant, int16_t* y, size_t stride) const {
    for (int32_t r = 0; r < kRows; ++r, y += stride)
      for (int32_t v = 0; v < 2; ++v)
        vst1_s16(y + 4 * v, neon_requantize_s16(sums[r][v], vld1q_f32(multiplier + 4 * v), requant));
  }
};

}  // namespace

void gemm_s16_neon(const GemmS16Args& args);

void gemm_s16_neon(const GemmS16Args& args) { run_panels_s16<Tile, 1>(args, 32); }

// Four columns at a time. A product of two codes fits 32 bits and is added in 64.

void matmul_s16_neon(const MatmulS16Args& args);

namespace {

constexpr int32_t kMatmulColumns = 4;

// The sums of a row's columns, two each.
struct Sums {
  int64x2_t first, last;
};

inline void add_products(Sums& sums, int16x4_t w, int16_t a) {
  const int32x4_t products = vmull_n_s16(w, a);
  sums.first = vaddw_s32(sums.first, vget_low_s32(products));
  sums.last = vaddw_s32(sums.last, vget_high_s32(products));
}

inline void store_row(Sums sums, const MatmulS16Args& args, int32_t row) {
  int64_t exact[kMatmulColumns];
  vst1q_s64(exact, sums.first);
  vst1q_s64(exact + 2, sums.last);
  int16_t* const y = args.output + row * args.output_stride;
  for (int32_t c = 0; c < args.n; ++c) y[c] = requantize_wide_s16(exact[c], args.multiplier, args.requant);
}

}  // namespace

// Two rows; of an odd number the last one is computed again. The sums are plain variables: gcc leaves an array of them on the
// stack.
void matmul_s16_neon(const MatmulS16Args& args) {
  for (int32_t row = 0; row < args.m; row += 2) {
    const int32_t last = row + 1 < args.m ? 1 : 0;
    const int16_t* const a = args.a + row * args.a_stride;
    const int16_t* const b = a + last * args.a_stride;
    const int64x2_t zeros = vdupq_n_s64(0);
    Sums top = {zeros, zeros}, bottom = {zeros, zeros};
    const int16_t* panel = args.panel;
    int32_t i = 0;
    for (; i + 2 <= args.k; i += 2, panel += 2 * kMatmulColumns) {
      const int16x4x2_t w = vld2_s16(panel);  // of depth i, and of the next
      add_products(top, w.val[0], a[i]);
      add_products(bottom, w.val[0], b[i]);
      add_products(top, w.val[1], a[i + 1]);
      add_products(bottom, w.val[1], b[i + 1]);
    }
    if (i < args.k) {
      const int16x4_t w = vld2_s16(panel).val[0];
      add_products(top, w, a[i]);
      add_products(bottom, w, b[i]);
    }
    store_row(top, args, row);
    if (last != 0) store_row(bottom, args, row + 1);
  }
}

}  // namespace intaglio
