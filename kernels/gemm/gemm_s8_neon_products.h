// The instructions of gemm_s8_neon.cc, on AArch64 and on ARMv7.
#pragma once

#include "kernels/arithmetic/widen_neon.h"

namespace intaglio {
namespace {

#if defined(__aarch64__)
constexpr int32_t kRowsAtOnce = 4;

inline int32x4_t load_first_lane(const int32_t* from) {
  int32x4_t v;
  __asm__ volatile("ldr %s0, %1" : "=w"(v) : "m"(*from));
  return v;
}
inline int32x4_t add_across(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}
// Sixteen depths of four rows times a column: four of each instruction, so that none waits for the one before it.
inline void multiply_four(const int8x16_t* a, int8x16_t b, int32x4_t* s0, int32x4_t* s1, int32x4_t* s2,
                          int32x4_t* s3) {
  int32x4_t v0 = *s0, v1 = *s1, v2 = *s2, v3 = *s3;
  int16x8_t p0, p1, p2, p3;
  __asm__(
      "smull %4.8h, %8.8b, %12.8b\n\tsmull %5.8h, %9.8b, %12.8b\n\t"
      "smull %6.8h, %10.8b, %12.8b\n\tsmull %7.8h, %11.8b, %12.8b\n\t"
      "smlal2 %4.8h, %8.16b, %12.16b\n\tsmlal2 %5.8h, %9.16b, %12.16b\n\t"
      "smlal2 %6.8h, %10.16b, %12.16b\n\tsmlal2 %7.8h, %11.16b, %12.16b\n\t"
      "sadalp %0.4s, %4.8h\n\tsadalp %1.4s, %5.8h\n\tsadalp %2.4s, %6.8h\n\tsadalp %3.4s, %7.8h"
      : "+w"(v0), "+w"(v1), "+w"(v2), "+w"(v3), "=&w"(p0), "=&w"(p1), "=&w"(p2), "=&w"(p3)
      : "w"(a[0]), "w"(a[1]), "w"(a[2]), "w"(a[3]), "w"(b));
  *s0 = v0;
  *s1 = v1;
  *s2 = v2;
  *s3 = v3;
}
inline int16x8_t add_upper_products(int16x8_t sum, int8x16_t a, int8x16_t b) {
  __asm__("smlal2 %0.8h, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
}
// In assembly: gcc 12 copies accumulators around the intrinsic.
inline int32x4_t add_pairs(int32x4_t sum, int16x8_t v) {
  __asm__("sadalp %0.4s, %1.8h" : "+w"(sum) : "w"(v));
  return sum;
}
#else
constexpr int32_t kRowsAtOnce = 2;  // sixteen registers

inline int16x8_t add_upper_products(int16x8_t sum, int8x16_t a, int8x16_t b) {
  return multiply_add_high_neon(sum, a, b);
}
inline int32x4_t add_pairs(int32x4_t sum, int16x8_t v) { return vpadalq_s16(sum, v); }
inline int32x4_t load_first_lane(const int32_t* from) { return vsetq_lane_s32(*from, vdupq_n_s32(0), 0); }
inline int32x2_t halves(int32x4_t v) {
  const uint32x4_t sums = vreinterpretq_u32_s32(v);
  return vreinterpret_s32_u32(vadd_u32(vget_low_u32(sums), vget_high_u32(sums)));
}
inline int32x4_t add_across(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  return vcombine_s32(vpadd_s32(halves(a), halves(b)), vpadd_s32(halves(c), halves(d)));
}
#endif

}  // namespace
}  // namespace intaglio
