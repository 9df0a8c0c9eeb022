#include "kernels/arithmetic/fma_f32.h"
#include "kernels/gemm/gemm_f32.h"

namespace intaglio {

void gemm_f32_scalar(const GemmF32Args& args);

void gemm_f32_scalar(const GemmF32Args& args) {
  const float* w = args.weights;
  for (int32_t c = 0; c < args.n; ++c) {
    float v = args.bias != nullptr ? args.bias[c] : 0.0f;
    for (int32_t t = 0; t < args.taps; ++t) {
      const float* const x = args.rows[t];
      for (int32_t i = 0; i < args.k; ++i) v = fma_f32(x[i], w[i], v);
      w += args.k;
    }
    v += 0.0f;
    if (args.residual != nullptr) v += args.residual[c];
    args.output[c] = finish_f32(v, args.clamp);
  }
}

}  // namespace intaglio
