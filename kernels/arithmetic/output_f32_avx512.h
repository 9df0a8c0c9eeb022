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

}  // namespace
}  // namespace intaglio
