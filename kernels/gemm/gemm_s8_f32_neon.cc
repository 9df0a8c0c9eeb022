#include "kernels/gemm/gemm_s8_f32_neon_end.h"
#include "kernels/gemm/gemm_s8_neon_tiles.h"

namespace intaglio {
namespace {

class RealsOfFour : public Reals<4, 1> {
 public:
  using Reals::Reals;
  __attribute__((always_inline)) void store(const GemmS8F32Args& args, int32_t row, const WorkRealsNeon& work,
                                            const int32x4_t (&sums)[4]) const {
    const int32x4_t acc[4][1] = {{sums[0]}, {sums[1]}, {sums[2]}, {sums[3]}};
    Reals::store(args, row, work, acc);
  }
};

}  // namespace

void gemm_s8_f32_neon(const GemmS8F32Args& args);

// Rows past the last are read, up to a multiple of four, and not stored.
void gemm_s8_f32_neon(const GemmS8F32Args& args) {
  const int32_t whole = args.m / 4 * 4;
  const RowsNeon in = rows_neon(args, args.n);
  if (in.listed && whole > 0 && all_panels_fit(args)) {
    listed_tiles<RealsOfFour>(args, in, 0, whole);
  } else if (whole > 0) {
    tiles<4, RealsOfFour>(args, 0, whole);
  }
  if (whole < args.m) tiles<4, RealsOfFour>(args, whole, args.m);
}

GemvS8F32 gemv_s8_f32_neon;

void gemv_s8_f32_neon(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                      float* y, int32_t n, int32_t k) {
  // A product fits int16, two of them may not: (-128)^2 twice.
  gemv_neon(x, w, bias, multiplier, y, n, k, [](int32x4_t sum, int8x16_t codes, int8x16_t weights) {
    sum = vpadalq_s16(sum, multiply_low_neon(codes, weights));
    return vpadalq_s16(sum, multiply_high_neon(codes, weights));
  });
}

}  // namespace intaglio
