// requant.h on vectors, for the NEON kernels. Rounding, saturation and clamp commute: the limits are
// integers.
#pragma once

#include <arm_neon.h>

#include "kernels/requant.h"

namespace intaglio {

// OutputS8 as a kernel uses it, made once a call.
struct OutputNeon {
#if defined(__aarch64__)
  int16x8_t zero_point;
  int8x16_t lo, hi;
#else
  int16x8_t zero_point;
  float32x4_t lo, hi;
#endif
};

static inline OutputNeon make_output_neon(const OutputS8& output) {
  OutputNeon o;
  o.zero_point = vdupq_n_s16(static_cast<int16_t>(output.zero_point));
#if defined(__aarch64__)
  o.lo =
      vdupq_n_s8(static_cast<int8_t>(static_cast<int32_t>(output.lo_minus_zero_point) + output.zero_point));
  o.hi =
      vdupq_n_s8(static_cast<int8_t>(static_cast<int32_t>(output.hi_minus_zero_point) + output.zero_point));
#else
  o.lo = vdupq_n_f32(output.lo_minus_zero_point);
  o.hi = vdupq_n_f32(output.hi_minus_zero_point);
#endif
  return o;
}

#if defined(__aarch64__)

// Sixteen reals to codes, in order: the nearest integers, half to even, saturated.
static inline int8x16_t codes_neon(float32x4_t v0, float32x4_t v1, float32x4_t v2, float32x4_t v3,
                                   const OutputNeon& o) {
  const int16x8_t low = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(v0)), vcvtnq_s32_f32(v1));
  const int16x8_t high = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(v2)), vcvtnq_s32_f32(v3));
  const int8x16_t q =
      vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, o.zero_point)), vqaddq_s16(high, o.zero_point));
  return vminq_s8(vmaxq_s8(q, o.lo), o.hi);
}

#else

// ARMv7 converts by truncation alone: after the clamp, the sum with 1.5 * 2^23 holds the rounded value in its
// low 16 bits (round_half_even of requant.h).
static inline int16x4_t round_neon(float32x4_t v, const OutputNeon& o) {
  v = vminq_f32(vmaxq_f32(v, o.lo), o.hi);
  return vmovn_s32(vreinterpretq_s32_f32(vaddq_f32(v, vdupq_n_f32(12582912.0f))));
}

static inline int8x16_t codes_neon(float32x4_t v0, float32x4_t v1, float32x4_t v2, float32x4_t v3,
                                   const OutputNeon& o) {
  const int16x8_t low = vaddq_s16(vcombine_s16(round_neon(v0, o), round_neon(v1, o)), o.zero_point);
  const int16x8_t high = vaddq_s16(vcombine_s16(round_neon(v2, o), round_neon(v3, o)), o.zero_point);
  return vcombine_s8(vmovn_s16(low), vmovn_s16(high));
}

#endif

// Sixteen accumulators to codes, in order. A product of a nonzero accumulator is never subnormal, so that
// ARMv7's flushing changes nothing: multipliers are 2^-120 at least.
static inline int8x16_t requantize_neon(int32x4_t a0, int32x4_t a1, int32x4_t a2, int32x4_t a3,
                                        float32x4_t m0, float32x4_t m1, float32x4_t m2, float32x4_t m3,
                                        const OutputNeon& o) {
  return codes_neon(vmulq_f32(vcvtq_f32_s32(a0), m0), vmulq_f32(vcvtq_f32_s32(a1), m1),
                    vmulq_f32(vcvtq_f32_s32(a2), m2), vmulq_f32(vcvtq_f32_s32(a3), m3), o);
}

// One side of add_s8, and its end, on four lanes.
static inline int32x4_t scaled_neon(int16x4_t codes, int32_t zero_point, int32_t multiplier) {
  return vmulq_n_s32(vmovl_s16(vsub_s16(codes, vdup_n_s16(static_cast<int16_t>(zero_point)))), multiplier);
}

static inline int16x4_t add_lanes_neon(int16x4_t a, int16x4_t b, const AddS8& p) {
  int32x4_t q = vaddq_s32(scaled_neon(a, p.a_zero_point, p.a_multiplier),
                          scaled_neon(b, p.b_zero_point, p.b_multiplier));
  q = vaddq_s32(q, vdupq_n_s32(int32_t{1} << (p.right_shift - 1)));
  q = vaddq_s32(vshlq_s32(q, vdupq_n_s32(-p.right_shift)), vdupq_n_s32(p.zero_point));
  return vmovn_s32(vminq_s32(vmaxq_s32(q, vdupq_n_s32(p.lo)), vdupq_n_s32(p.hi)));
}

// add_s8 on sixteen codes.
static inline int8x16_t add_neon(int8x16_t a, int8x16_t b, const AddS8& p) {
  const int16x8_t a0 = vmovl_s8(vget_low_s8(a)), a1 = vmovl_s8(vget_high_s8(a));
  const int16x8_t b0 = vmovl_s8(vget_low_s8(b)), b1 = vmovl_s8(vget_high_s8(b));
  const int16x8_t low = vcombine_s16(add_lanes_neon(vget_low_s16(a0), vget_low_s16(b0), p),
                                     add_lanes_neon(vget_high_s16(a0), vget_high_s16(b0), p));
  const int16x8_t high = vcombine_s16(add_lanes_neon(vget_low_s16(a1), vget_low_s16(b1), p),
                                      add_lanes_neon(vget_high_s16(a1), vget_high_s16(b1), p));
  return vcombine_s8(vmovn_s16(low), vmovn_s16(high));
}

}  // namespace intaglio
