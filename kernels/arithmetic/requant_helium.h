// requant.h on vectors, for the Helium kernels. Rounding and clamp commute, since the limits are integers.
// The vectors round to nearest even always; they flush subnormal products, which round to zero anyway.
#pragma once

#include <arm_mve.h>

#include "kernels/arithmetic/requant.h"

namespace intaglio {

// OutputS8 in codes, made once a call.
struct OutputHelium {
  int32_t zero_point;
  int32x4_t lo, hi;
};

static inline OutputHelium make_output_helium(const OutputS8& output) {
  return {output.zero_point,
          vdupq_n_s32(static_cast<int32_t>(output.lo_minus_zero_point) + output.zero_point),
          vdupq_n_s32(static_cast<int32_t>(output.hi_minus_zero_point) + output.zero_point)};
}

static inline int32x4_t round_helium(float32x4_t v, const OutputHelium& output) {
  const int32x4_t q = vqaddq_n_s32(vcvtnq_s32_f32(v), output.zero_point);
  return vminq_s32(vmaxq_s32(q, output.lo), output.hi);
}

// Four codes, each in 32 bits. The conversion saturates; the sum with the zero point must, too.
static inline int32x4_t requantize_helium(int32x4_t acc, float32x4_t multiplier, const OutputHelium& output) {
  return round_helium(vmulq_f32(vcvtq_f32_s32(acc), multiplier), output);
}
static inline int32x4_t requantize_helium(int32x4_t acc, float multiplier, const OutputHelium& output) {
  return round_helium(vmulq_n_f32(vcvtq_f32_s32(acc), multiplier), output);
}

// AddS8, made once a call: bias = -(a_zero_point * a_multiplier + b_zero_point * b_multiplier), at most 2^29.
struct AddHelium {
  int32_t a_multiplier, b_multiplier, bias, left_shift, zero_point;
  int32x4_t lo, hi;
};

static inline AddHelium make_add_helium(const AddS8& p) {
  return {
      p.a_multiplier,   p.b_multiplier, -(p.a_zero_point * p.a_multiplier + p.b_zero_point * p.b_multiplier),
      -p.right_shift,   p.zero_point,   vdupq_n_s32(p.lo),
      vdupq_n_s32(p.hi)};
}

// add_s8 of codes in 32 bits. The shift rounds half up.
static inline int32x4_t add_helium(int32x4_t a, int32x4_t b, const AddHelium& p) {
  const int32x4_t sum = vmlaq_n_s32(vmulq_n_s32(a, p.a_multiplier), b, p.b_multiplier);
  const int32x4_t shifted = vrshlq_n_s32(vaddq_n_s32(sum, p.bias), p.left_shift);
  return vminq_s32(vmaxq_s32(vaddq_n_s32(shifted, p.zero_point), p.lo), p.hi);
}

}  // namespace intaglio
