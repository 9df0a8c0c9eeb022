// How the NEON kernels store tiles of sums as reals.
#pragma once

#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s8_f32.h"

namespace intaglio {
namespace {

struct WorkRealsNeon {
  const int32_t* bias;
  const float* multiplier;
  float* output;
  int32_t columns;  // that are left

  void take_ends() {}
};

// Tiles of Rows rows and 4 Vectors columns.
template <int32_t Rows, int32_t Vectors>
class Reals {
 public:
  explicit Reals(const GemmS8F32Args& args) : finish_(args.clamp) {}

  WorkRealsNeon start(const GemmS8F32Args& args, int32_t row) const {
    return {args.folded_bias, args.multiplier, args.y + static_cast<size_t>(row) * args.y_stride, args.n};
  }

  __attribute__((always_inline)) void store(const GemmS8F32Args& args, int32_t row, const WorkRealsNeon& work,
                                            const int32x4_t (&acc)[Rows][Vectors]) const {
    constexpr int32_t kColumns = 4 * Vectors;
    float32x4_t m[Vectors];
#pragma GCC unroll 2
    for (int32_t v = 0; v < Vectors; ++v) m[v] = vld1q_f32(work.multiplier + 4 * v);
    const bool whole = work.columns >= kColumns && args.m - row >= Rows;
    float some[Rows * kColumns];
    float* to = whole ? work.output : some;
    const size_t stride = whole ? args.y_stride : kColumns;
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r, to += stride)
#pragma GCC unroll 2
      for (int32_t v = 0; v < Vectors; ++v) vst1q_f32(to + 4 * v, finish_(acc[r][v], m[v]));
    if (whole) return;
    const auto columns = static_cast<size_t>(work.columns < kColumns ? work.columns : kColumns);
    to = work.output;
    for (int32_t r = 0; r < Rows && row + r < args.m; ++r, to += args.y_stride)
      memcpy(to, some + r * kColumns, columns * sizeof *some);
  }

 private:
  FinishSums finish_;
};

}  // namespace

// Parts that the NEON kernels of a row's product share. Four channels at a time: their weights are four streams, and a vector
// of codes serves all of them.

// Sums of the weights' rows [w + c * k), c < Channels, in four lanes each; the last k % 16 are left out.
// add(sum, codes, weights): products of sixteen, added to four lanes.
template <int32_t Channels, typename Add>
static inline void sum_rows_neon(const int8_t* x, const int8_t* w, int32_t k, int32x4_t* sums, Add add) {
#pragma GCC unroll 4
  for (int32_t c = 0; c < Channels; ++c) sums[c] = vdupq_n_s32(0);
  for (int32_t i = 0; i + 16 <= k; i += 16) {
    const int8x16_t codes = vld1q_s8(x + i);
#pragma GCC unroll 4
    for (int32_t c = 0; c < Channels; ++c)
      sums[c] = add(sums[c], codes, vld1q_s8(w + static_cast<ptrdiff_t>(c) * k + i));
  }
}

// One output: the lanes, the codes that fill no vector, the bias.
static inline float finish_row_neon(int32x4_t sums, const int8_t* x, const int8_t* w, int32_t bias,
                                    float multiplier, int32_t k) {
  const uint32x4_t lanes = vreinterpretq_u32_s32(sums);
  const uint32x2_t two = vadd_u32(vget_low_u32(lanes), vget_high_u32(lanes));
  uint32_t acc = vget_lane_u32(vpadd_u32(two, two), 0) + static_cast<uint32_t>(bias);
  for (int32_t i = k / 16 * 16; i < k; ++i) acc += static_cast<uint32_t>(x[i] * w[i]);
  return static_cast<float>(static_cast<int32_t>(acc)) * multiplier;
}

template <typename Add>
static inline void gemv_neon(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                             float* y, int32_t n, int32_t k, Add add) {
  int32x4_t sums[4];
  int32_t c = 0;
  for (; c + 4 <= n; c += 4, w += 4 * static_cast<ptrdiff_t>(k)) {
    sum_rows_neon<4>(x, w, k, sums, add);
    for (int32_t i = 0; i < 4; ++i)
      y[c + i] =
          finish_row_neon(sums[i], x, w + static_cast<ptrdiff_t>(i) * k, bias[c + i], multiplier[c + i], k);
  }
  for (; c < n; ++c, w += k) {
    sum_rows_neon<1>(x, w, k, sums, add);
    y[c] = finish_row_neon(sums[0], x, w, bias[c], multiplier[c], k);
  }
}

}  // namespace intaglio
