// output_f32.h on vectors of eight.
#pragma once

#include <immintrin.h>

#include "kernels/arithmetic/output_f32.h"

namespace intaglio {
namespace {

// The first `count` of eight lanes; all for more.
inline __m256i first_lanes(int32_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// finish_f32. maxps and minps give their second operand where one is a NaN.
class FinishF32 {
 public:
  explicit FinishF32(const ClampF32& clamp)
      : lo_(_mm256_set1_ps(clamp.lo)),
        hi_(_mm256_set1_ps(clamp.hi)),
        nan_(_mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000))) {}

  __m256 operator()(__m256 v) const {
    v = _mm256_add_ps(_mm256_min_ps(hi_, _mm256_max_ps(lo_, v)), _mm256_setzero_ps());
    return _mm256_blendv_ps(v, nan_, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  }

 private:
  __m256 lo_, hi_, nan_;
};

// finish_f32 of a sum times a positive multiplier: no NaN, and no -0 unless a limit is.
class FinishSums {
 public:
  explicit FinishSums(const ClampF32& clamp)
      : lo_(_mm256_set1_ps(clamp.lo + 0.0f)), hi_(_mm256_set1_ps(clamp.hi + 0.0f)) {}

  __m256 operator()(__m256i sum, __m256 multiplier) const {
    return _mm256_min_ps(_mm256_max_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), multiplier), lo_), hi_);
  }

 private:
  __m256 lo_, hi_;
};

}  // namespace
}  // namespace intaglio
