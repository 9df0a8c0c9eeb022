#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/eltwise/eltwise_f32_vectors.h"

namespace intaglio {
namespace {

struct Sixteen {
  using Register = __m512;
  using Mask = __mmask16;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 16;

  static Mask mask(int32_t count) { return first_lanes(count); }
  static Register load(const float* from) { return _mm512_loadu_ps(from); }
  static Register load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  static void store(float* to, Register v) { _mm512_storeu_ps(to, v); }
  static void store(float* to, Mask mask, Register v) { _mm512_mask_storeu_ps(to, mask, v); }
};

}  // namespace

RowsF32 add_rows_f32_avx512vnni, mul_rows_f32_avx512vnni;

void add_rows_f32_avx512vnni(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                             const ClampF32& clamp) {
  combine_rows<Sixteen>(a, b, y, rows, n, clamp, [](__m512 p, __m512 q) { return _mm512_add_ps(p, q); });
}

void mul_rows_f32_avx512vnni(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                             const ClampF32& clamp) {
  combine_rows<Sixteen>(a, b, y, rows, n, clamp, [](__m512 p, __m512 q) { return _mm512_mul_ps(p, q); });
}

}  // namespace intaglio
