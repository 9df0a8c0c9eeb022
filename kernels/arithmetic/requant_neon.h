// Products and sums of twice the width, on the halves of sixteen codes; AArch64 has instructions for the
// upper half of its own.
#pragma once

#include <arm_neon.h>

#include "kernels/arithmetic/requant.h"
#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

static inline int16x8_t multiply_low_neon(int8x16_t a, int8x16_t b) {
  return vmull_s8(vget_low_s8(a), vget_low_s8(b));
}
static inline int16x8_t multiply_add_low_neon(int16x8_t sum, int8x16_t a, int8x16_t b) {
  return vmlal_s8(sum, vget_low_s8(a), vget_low_s8(b));
}
// Sums in between may wrap, which a signed addition of gcc's vectors may not.
static inline int32x4_t add_wrapping_neon(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_u32(vaddq_u32(vreinterpretq_u32_s32(a), vreinterpretq_u32_s32(b)));
}
static inline int32x4_t add_low_neon(int32x4_t sum, int16x8_t v) { return vaddw_s16(sum, vget_low_s16(v)); }

#if defined(__aarch64__)

static inline int16x8_t multiply_high_neon(int8x16_t a, int8x16_t b) { return vmull_high_s8(a, b); }
static inline int16x8_t multiply_add_high_neon(int16x8_t sum, int8x16_t a, int8x16_t b) {
  return vmlal_high_s8(sum, a, b);
}
static inline int32x4_t add_high_neon(int32x4_t sum, int16x8_t v) { return vaddw_high_s16(sum, v); }

#else

static inline int16x8_t multiply_high_neon(int8x16_t a, int8x16_t b) {
  return vmull_s8(vget_high_s8(a), vget_high_s8(b));
}
static inline int16x8_t multiply_add_high_neon(int16x8_t sum, int8x16_t a, int8x16_t b) {
  return vmlal_s8(sum, vget_high_s8(a), vget_high_s8(b));
}
static inline int32x4_t add_high_neon(int32x4_t sum, int16x8_t v) { return vaddw_s16(sum, vget_high_s16(v)); }

#endif

// requant.h on vectors, for the NEON kernels. Rounding, saturation and clamp commute: the limits are
// integers.

// OutputS8 as a kernel uses it, made once a call.
struct OutputNeon {
#if defined(__aarch64__)
  int16x8_t zero_point;
  int8x16_t lo, hi;
  bool narrow;  // not all codes are allowed
#else
  int16x8_t zero_point;
  float32x4_t lo, hi;
  static constexpr bool narrow = false;  // the conversion needs its limits in any case
#endif
};

static inline OutputNeon make_output_neon(const OutputS8& output) {
  OutputNeon o;
  o.zero_point = vdupq_n_s16(static_cast<int16_t>(output.zero_point));
#if defined(__aarch64__)
  const int32_t lo = static_cast<int32_t>(output.lo_minus_zero_point) + output.zero_point;
  const int32_t hi = static_cast<int32_t>(output.hi_minus_zero_point) + output.zero_point;
  o.lo = vdupq_n_s8(static_cast<int8_t>(lo));
  o.hi = vdupq_n_s8(static_cast<int8_t>(hi));
  o.narrow = lo > INT8_MIN || hi < INT8_MAX;
#else
  o.lo = vdupq_n_f32(output.lo_minus_zero_point);
  o.hi = vdupq_n_f32(output.hi_minus_zero_point);
#endif
  return o;
}

#if defined(__aarch64__)

// Sixteen reals to codes, in order: the nearest integers, half to even, saturated. wide_codes_neon() leaves to clamp_neon() what is
// to be done where the output is narrow.
static inline int8x16_t wide_codes_neon(float32x4_t v0, float32x4_t v1, float32x4_t v2, float32x4_t v3,
                                        const OutputNeon& o) {
  const int16x8_t low = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(v0)), vcvtnq_s32_f32(v1));
  const int16x8_t high = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(v2)), vcvtnq_s32_f32(v3));
  return vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, o.zero_point)), vqaddq_s16(high, o.zero_point));
}
static inline int8x16_t clamp_neon(int8x16_t codes, const OutputNeon& o) {
  return vminq_s8(vmaxq_s8(codes, o.lo), o.hi);
}
static inline int8x16_t codes_neon(float32x4_t v0, float32x4_t v1, float32x4_t v2, float32x4_t v3,
                                   const OutputNeon& o) {
  return clamp_neon(wide_codes_neon(v0, v1, v2, v3, o), o);
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
static inline int8x16_t wide_codes_neon(float32x4_t v0, float32x4_t v1, float32x4_t v2, float32x4_t v3,
                                        const OutputNeon& o) {
  return codes_neon(v0, v1, v2, v3, o);
}
static inline int8x16_t clamp_neon(int8x16_t codes, const OutputNeon&) { return codes; }

#endif

// Sixteen accumulators to codes, in order. A product of a nonzero accumulator is never subnormal, so that
// ARMv7's flushing changes nothing: multipliers are 2^-120 at least.
static inline int8x16_t requantize_wide_neon(int32x4_t a0, int32x4_t a1, int32x4_t a2, int32x4_t a3,
                                             float32x4_t m0, float32x4_t m1, float32x4_t m2, float32x4_t m3,
                                             const OutputNeon& o) {
  return wide_codes_neon(vmulq_f32(vcvtq_f32_s32(a0), m0), vmulq_f32(vcvtq_f32_s32(a1), m1),
                         vmulq_f32(vcvtq_f32_s32(a2), m2), vmulq_f32(vcvtq_f32_s32(a3), m3), o);
}
static inline int8x16_t requantize_neon(int32x4_t a0, int32x4_t a1, int32x4_t a2, int32x4_t a3,
                                        float32x4_t m0, float32x4_t m1, float32x4_t m2, float32x4_t m3,
                                        const OutputNeon& o) {
  return clamp_neon(requantize_wide_neon(a0, a1, a2, a3, m0, m1, m2, m3, o), o);
}

// Products of the upper four lanes.
static inline int32x4_t upper_products_neon(int16x8_t a, int16x8_t b) {
#if defined(__aarch64__)
  return vmull_high_s16(a, b);
#else
  return vmull_s16(vget_high_s16(a), vget_high_s16(b));
#endif
}
static inline int32x4_t add_upper_products_neon(int32x4_t sum, int16x8_t a, int16x8_t b) {
#if defined(__aarch64__)
  return vmlal_high_s16(sum, a, b);
#else
  return vmlal_s16(sum, vget_high_s16(a), vget_high_s16(b));
#endif
}

// add_s8 on sixteen codes; the shift rounds by itself.
class AddNeon {
 public:
  AddNeon() = default;  // not to be used
  explicit AddNeon(const AddS8& p)
      : z_a_(vdupq_n_s8(static_cast<int8_t>(p.a_zero_point))),
        z_b_(vdupq_n_s8(static_cast<int8_t>(p.b_zero_point))),
        short_a_(vdupq_n_s16(static_cast<int16_t>(p.a_multiplier))),
        short_b_(vdupq_n_s16(static_cast<int16_t>(p.b_multiplier))),
        zero_point_(vdupq_n_s16(static_cast<int16_t>(p.zero_point))),
        by_a_(vdupq_n_s32(p.a_multiplier)),
        by_b_(vdupq_n_s32(p.b_multiplier)),
        shift_(vdupq_n_s32(-p.right_shift)),
        lo_(vdupq_n_s8(static_cast<int8_t>(p.lo))),
        hi_(vdupq_n_s8(static_cast<int8_t>(p.hi))) {}

  // Whether both multipliers fit int16.
  static bool is_short(const AddS8& p) {
    return p.a_multiplier == static_cast<int16_t>(p.a_multiplier) &&
           p.b_multiplier == static_cast<int16_t>(p.b_multiplier);
  }
  template <bool Short>
  int8x16_t sum(int8x16_t a, int8x16_t b) const {
    const int8x16_t q = vcombine_s8(eight<Short>(low_less(a, z_a_), low_less(b, z_b_)),
                                    eight<Short>(high_less(a, z_a_), high_less(b, z_b_)));
    return vminq_s8(vmaxq_s8(q, lo_), hi_);
  }

 private:
  static int16x8_t low_less(int8x16_t a, int8x16_t z) { return vsubl_s8(vget_low_s8(a), vget_low_s8(z)); }
  static int16x8_t high_less(int8x16_t a, int8x16_t z) {
#if defined(__aarch64__)
    return vsubl_high_s8(a, z);
#else
    return vsubl_s8(vget_high_s8(a), vget_high_s8(z));
#endif
  }
  template <bool Short>
  int32x4_t low_sums(int16x8_t a, int16x8_t b) const {
    const int16x4_t u = vget_low_s16(a), v = vget_low_s16(b);
    return Short ? vmlal_s16(vmull_s16(u, vget_low_s16(short_a_)), v, vget_low_s16(short_b_))
                 : vmlaq_s32(vmulq_s32(vmovl_s16(u), by_a_), vmovl_s16(v), by_b_);
  }
  template <bool Short>
  int32x4_t high_sums(int16x8_t a, int16x8_t b) const {
    if (Short) return add_upper_products_neon(upper_products_neon(a, short_a_), b, short_b_);
    return vmlaq_s32(vmulq_s32(vmovl_s16(vget_high_s16(a)), by_a_), vmovl_s16(vget_high_s16(b)), by_b_);
  }
  template <bool Short>
  int8x8_t eight(int16x8_t a, int16x8_t b) const {
    const int16x8_t q = vcombine_s16(vqmovn_s32(vrshlq_s32(low_sums<Short>(a, b), shift_)),
                                     vqmovn_s32(vrshlq_s32(high_sums<Short>(a, b), shift_)));
    return vqmovn_s16(vqaddq_s16(q, zero_point_));
  }

  int8x16_t z_a_, z_b_;
  int16x8_t short_a_, short_b_, zero_point_;
  int32x4_t by_a_, by_b_, shift_;
  int8x16_t lo_, hi_;
};

// requant_s16.h on four lanes. `inline` would leave weak symbols: static.

static inline int16x4_t neon_requantize_s16(int32x4_t sums, float32x4_t multiplier, const OutputS16& output) {
  const float32x4_t magic = vdupq_n_f32(12582912.0f);  // as in round_half_even()
  float32x4_t v = vmulq_f32(vcvtq_f32_s32(sums), multiplier);
  v = vminq_f32(vmaxq_f32(v, vdupq_n_f32(output.lo)), vdupq_n_f32(output.hi));
  const int32x4_t bits = vreinterpretq_s32_f32(vaddq_f32(v, magic));
  return vmovn_s32(vsubq_s32(bits, vreinterpretq_s32_f32(magic)));
}

}  // namespace intaglio
