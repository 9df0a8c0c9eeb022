// Four columns at a time. A product of two codes fits 32 bits and is added in 64.
#include <arm_neon.h>

#include "kernels/gemm/matmul_s16.h"

namespace intaglio {

void matmul_s16_neon(const MatmulS16Args& args);

namespace {

constexpr int32_t kColumns = 4;

// The sums of a row's columns, two each.
struct Sums {
  int64x2_t first, last;
};

inline void add(Sums& sums, int16x4_t w, int16_t a) {
  const int32x4_t products = vmull_n_s16(w, a);
  sums.first = vaddw_s32(sums.first, vget_low_s32(products));
  sums.last = vaddw_s32(sums.last, vget_high_s32(products));
}

inline void store(Sums sums, const MatmulS16Args& args, int32_t row) {
  int64_t exact[kColumns];
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
    for (; i + 2 <= args.k; i += 2, panel += 2 * kColumns) {
      const int16x4x2_t w = vld2_s16(panel);  // of depth i, and of the next
      add(top, w.val[0], a[i]);
      add(bottom, w.val[0], b[i]);
      add(top, w.val[1], a[i + 1]);
      add(bottom, w.val[1], b[i + 1]);
    }
    if (i < args.k) {
      const int16x4_t w = vld2_s16(panel).val[0];
      add(top, w, a[i]);
      add(bottom, w, b[i]);
    }
    store(top, args, row);
    if (last != 0) store(bottom, args, row + 1);
  }
}

}  // namespace intaglio
