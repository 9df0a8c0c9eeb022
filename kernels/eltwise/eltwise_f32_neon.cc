// AArch64: four elements in a vector, what is left of a row one by one. ARMv7's vectors flush subnormals: the
// scalar kernel serves there.
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/eltwise/eltwise_f32.h"

namespace intaglio {

RowsF32 add_rows_f32_neon, mul_rows_f32_neon, prelu_rows_f32_neon;

#if defined(__aarch64__)

namespace {

// Each vector is read before it is written: y may be a.
template <typename Combine>
__attribute__((noinline)) void combine_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                                            const ClampF32& clamp, Combine combine) {
  const FinishF32 finish(clamp);
  const int32_t whole = n / 4 * 4;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n) {
#pragma GCC unroll 4
    for (int32_t i = 0; i < whole; i += 4)
      vst1q_f32(y + i, finish(combine(vld1q_f32(a + i), vld1q_f32(b + i))));
    for (int32_t i = whole; i < n; ++i) y[i] = finish_f32(combine(a[i], b[i]), clamp);
  }
}

struct Prelu {
  float32x4_t operator()(float32x4_t p, float32x4_t q) const {
    return vbslq_f32(vcgtzq_f32(p), p, vmulq_f32(p, q));
  }
  float operator()(float p, float q) const { return p > 0.0f ? p : p * q; }
};

}  // namespace

void add_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  const DefaultNan mode;
  combine_neon(a, b, y, rows, n, clamp, [](auto p, auto q) { return p + q; });
}

void mul_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  const DefaultNan mode;
  combine_neon(a, b, y, rows, n, clamp, [](auto p, auto q) { return p * q; });
}

void prelu_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  const DefaultNan mode;
  combine_neon(a, b, y, rows, n, clamp, Prelu());
}

#else

RowsF32 add_rows_f32_scalar, mul_rows_f32_scalar, prelu_rows_f32_scalar;

void add_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  add_rows_f32_scalar(a, b, y, rows, n, clamp);
}

void mul_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  mul_rows_f32_scalar(a, b, y, rows, n, clamp);
}

void prelu_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  prelu_rows_f32_scalar(a, b, y, rows, n, clamp);
}

#endif

}  // namespace intaglio
