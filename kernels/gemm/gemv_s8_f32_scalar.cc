#include "kernels/gemm/gemv_s8_f32.h"

namespace intaglio {

GemvS8F32 gemv_s8_f32_scalar;

void gemv_s8_f32_scalar(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                        float* y, int32_t n, int32_t k) {
  for (int32_t c = 0; c < n; ++c, w += k) {
    auto acc = static_cast<uint32_t>(bias[c]);
    for (int32_t i = 0; i < k; ++i) acc += static_cast<uint32_t>(x[i] * w[i]);
    y[c] = static_cast<float>(static_cast<int32_t>(acc)) * multiplier[c];
  }
}

}  // namespace intaglio
