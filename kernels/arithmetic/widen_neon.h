// Products and sums of twice the width, on the halves of sixteen codes; AArch64 has instructions for the
// upper half of its own.
#pragma once

#include <arm_neon.h>

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

}  // namespace intaglio
