#include "kernels/gemm/matmul_s16.h"

namespace intaglio {

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
