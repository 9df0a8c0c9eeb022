// output_f32.h on vectors of sixteen.
#pragma once

#include <immintrin.h>

#include "kernels/arithmetic/output_f32.h"

namespace intaglio {
namespace {

// The first `count` of sixteen lanes; all for more.
inline __mmask16 first_lanes(int32_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1u);
}

// finish_f32. maxps and minps give their second operand where one is a NaN; vfixupimmps then makes NaN
// 7FC00000 and zero positive, and does not change the rest.
class FinishF32 {
 public:
  explicit FinishF32(const ClampF32& clamp)
      : lo_(_mm512_set1_ps(clamp.lo)),
        hi_(_mm512_set1_ps(clamp.hi)),
        nan_(_mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000))),
        classes_(_mm512_set1_epi32(0x11111800)) {}

  __m512 operator()(__m512 v) const {
    v = _mm512_min_ps(hi_, _mm512_max_ps(lo_, v));
    return _mm512_fixupimm_ps(nan_, v, classes_, 0);
  }

 private:
  __m512 lo_, hi_, nan_;
  __m512i classes_;
};

// finish_f32 of a sum times a positive multiplier: no NaN, and no -0 unless a limit is.
class FinishSums {
 public:
  explicit FinishSums(const ClampF32& clamp)
      : lo_(_mm512_set1_ps(clamp.lo + 0.0f)), hi_(_mm512_set1_ps(clamp.hi + 0.0f)) {}

  __m512 operator()(__m512i sum, __m512 multiplier) const {
    return _mm512_min_ps(_mm512_max_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), multiplier), lo_), hi_);
  }

 private:
  __m512 lo_, hi_;
};

// 64 reals whose i-th vector has the quad i of each sixteen, as bytes have that were interleaved 128 bits at a time: in order.
inline void order_quads(__m512* v) {
  const __m512 a = _mm512_shuffle_f32x4(v[0], v[1], 0x44), b = _mm512_shuffle_f32x4(v[2], v[3], 0x44);
  const __m512 c = _mm512_shuffle_f32x4(v[0], v[1], 0xee), d = _mm512_shuffle_f32x4(v[2], v[3], 0xee);
  v[0] = _mm512_shuffle_f32x4(a, b, 0x88);
  v[1] = _mm512_shuffle_f32x4(a, b, 0xdd);
  v[2] = _mm512_shuffle_f32x4(c, d, 0x88);
  v[3] = _mm512_shuffle_f32x4(c, d, 0xdd);
}

}  // namespace
}  // namespace intaglio
