#include "kernels/gemm/gemv_s8_f32_neon_rows.h"

namespace intaglio {

GemvS8F32 gemv_s8_f32_neondot;

void gemv_s8_f32_neondot(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                         float* y, int32_t n, int32_t k) {
  gemv_neon(x, w, bias, multiplier, y, n, k,
            [](int32x4_t sum, int8x16_t codes, int8x16_t weights) { return vdotq_s32(sum, codes, weights); });
}

}  // namespace intaglio
