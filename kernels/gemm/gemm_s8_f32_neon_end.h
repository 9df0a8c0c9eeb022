// How the NEON kernels store tiles of sums as reals.
#pragma once

#include "kernels/arithmetic/output_f32_neon.h"
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
}  // namespace intaglio
