#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/eltwise/eltwise_f32_vectors.h"

namespace intaglio {
namespace {

struct Eight {
  using Register = __m256;
  using Mask = __m256i;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 8;

  static Mask mask(int32_t count) { return first_lanes(count); }
  static Register load(const float* from) { return _mm256_loadu_ps(from); }
  static Register load(const float* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
  static void store(float* to, Register v) { _mm256_storeu_ps(to, v); }
  static void store(float* to, Mask mask, Register v) { _mm256_maskstore_ps(to, mask, v); }
};

}  // namespace

RowsF32 add_rows_f32_avx2, mul_rows_f32_avx2, prelu_rows_f32_avx2;

void add_rows_f32_avx2(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  combine_rows<Eight>(a, b, y, rows, n, clamp, [](__m256 p, __m256 q) { return _mm256_add_ps(p, q); });
}

void mul_rows_f32_avx2(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  combine_rows<Eight>(a, b, y, rows, n, clamp, [](__m256 p, __m256 q) { return _mm256_mul_ps(p, q); });
}

void prelu_rows_f32_avx2(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  combine_rows<Eight>(a, b, y, rows, n, clamp, [](__m256 p, __m256 q) {
    return _mm256_blendv_ps(_mm256_mul_ps(p, q), p, _mm256_cmp_ps(p, _mm256_setzero_ps(), _CMP_GT_OQ));
  });
}

}  // namespace intaglio
