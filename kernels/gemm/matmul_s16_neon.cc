// Four columns at a time. A product of two codes fits 32 bits and is added in 64.
#include <arm_neon.h>

#include "kernels/gemm/matmul_s16.h"

namespace intaglio {

void matmul_s16_neon(const MatmulS16Args& args);

namespace {

constexpr int32_t kColumns = 4;

struct Sums {
  int64x2_t first, last;  // of two columns each
};

inline void add(Sums& sums, int16x4_t w, int16_t a) {
  const int32x4_t products = vmull_n_s16(w, a);
  sums.first = vaddw_s32(sums.first, vget_low_s32(products));
  sums.last = vaddw_s32(sums.last, vget_high_s32(products));
}

}  // namespace

void matmul_s16_neon(const MatmulS16Args& args) {
  constexpr int32_t kRows = 2;  // of an odd number the last one is computed again
  for (int32_t row = 0; row < args.m; row += kRows) {
    const int32_t last = row + 1 < args.m ? 1 : 0;
    const int16_t* const top = args.a + row * args.a_stride;
    const int16_t* const bottom = top + last * args.a_stride;
    Sums sums[kRows] = {{vdupq_n_s64(0), vdupq_n_s64(0)}, {vdupq_n_s64(0), vdupq_n_s64(0)}};
    const int16_t* panel = args.panel;
    int32_t i = 0;
    for (; i + 2 <= args.k; i += 2, panel += 2 * kColumns) {
      const int16x4x2_t w = vld2_s16(panel);  // of depth i, and of the next
      add(sums[0], w.val[0], top[i]);
      add(sums[1], w.val[0], bottom[i]);
      add(sums[0], w.val[1], top[i + 1]);
      add(sums[1], w.val[1], bottom[i + 1]);
    }
    if (i < args.k) {
      const int16x4_t w = vld2_s16(panel).val[0];
      add(sums[0], w, top[i]);
      add(sums[1], w, bottom[i]);
    }
    for (int32_t r = 0; r <= last; ++r) {
      int64_t exact[kColumns];
      vst1q_s64(exact, sums[r].first);
      vst1q_s64(exact + 2, sums[r].last);
      int16_t* const y = args.output + (row + r) * args.output_stride;
      for (int32_t c = 0; c < args.n; ++c)
        y[c] = requantize_wide_s16(exact[c], args.multiplier, args.requant);
    }
  }
}

}  // namespace intaglio
