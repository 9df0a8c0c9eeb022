#include "kernels/gemm/gemv_s8_f32_neon_rows.h"

namespace intaglio {

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
