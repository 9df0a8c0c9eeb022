#include "kernels/gemm/gemm_s16.h"

namespace intaglio {

void gemm_s16_scalar(const GemmS16Args& args);

void gemm_s16_scalar(const GemmS16Args& args) {
  const int8_t* w = args.weights;
  for (int32_t c = 0; c < args.n; ++c) {
    int64_t sum = args.bias[c];
    for (int32_t t = 0; t < args.taps; ++t) {
      const int16_t* x = args.rows[t];
      for (int32_t left = args.k; left > 0;) {
        const int32_t depths = left < kGemmS16Depths ? left : kGemmS16Depths;
        int32_t part = 0;
        for (int32_t i = 0; i < depths; ++i) part += int32_t{*x++} * *w++;
        sum += part;
        left -= depths;
      }
    }
    args.output[c] = requantize_wide_s16(sum, args.multiplier[c], args.requant);
  }
}

void matmul_s16_scalar(const MatmulS16Args& args);

void matmul_s16_scalar(const MatmulS16Args& args) {
  for (int32_t r = 0; r < args.m; ++r) {
    const int16_t* const a = args.a + r * args.a_stride;
    int64_t sum = 0;
    for (int32_t i = 0; i < args.k; ++i) sum += int32_t{a[i]} * args.panel[i];
    args.output[r * args.output_stride] = requantize_wide_s16(sum, args.multiplier, args.requant);
  }
}

}  // namespace intaglio
