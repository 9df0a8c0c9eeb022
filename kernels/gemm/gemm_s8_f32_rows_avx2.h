// How the kernels on 256 bits store sixteen columns of sums as reals; see gemm_s8_rows_avx2.h.
#pragma once

#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/gemm/gemm_s8_f32.h"

namespace intaglio {

// `sums` of args.m rows of one panel, two vectors each.
__attribute__((noinline)) static void avx2_store_reals(const GemmS8F32Args& args, int32_t first,
                                                       const int8_t* multipliers, const __m256i* sums) {
  const int32_t columns = args.n - first;
  const __m256 m0 = _mm256_loadu_ps(reinterpret_cast<const float*>(multipliers));
  const __m256 m1 = _mm256_loadu_ps(reinterpret_cast<const float*>(multipliers) + 8);
  const FinishSums real(args.clamp);
  const __m256i low_lanes = first_lanes(columns), high_lanes = first_lanes(columns - 8);
  float* y = args.y + first;
  for (int32_t r = 0; r < args.m; ++r, sums += 2, y += args.y_stride) {
    const __m256 a = real(sums[0], m0), b = real(sums[1], m1);
    const __m256 low = _mm256_permute2f128_ps(a, b, 0x20), high = _mm256_permute2f128_ps(a, b, 0x31);
    if (columns >= 16) {
      _mm256_storeu_ps(y, low);
      _mm256_storeu_ps(y + 8, high);
    } else {
      _mm256_maskstore_ps(y, low_lanes, low);
      if (columns > 8) _mm256_maskstore_ps(y + 8, high_lanes, high);
    }
  }
}

}  // namespace intaglio
