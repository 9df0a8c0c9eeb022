// Four bytes as two words of two int16 each.
#pragma once

#include <arm_acle.h>
#include <cstdint>
#include <cstring>

#include "kernels/arithmetic/requant.h"

namespace intaglio {

static inline uint32_t load_word_dsp(const void* from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

// Bytes 0 and 2.
static inline uint32_t even_dsp(uint32_t codes) { return __sxtb16(codes); }

// Bytes 1 and 3; compilers make two instructions of it.
static inline uint32_t odd_dsp(uint32_t codes) {
  uint32_t pair;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(codes));
  return pair;
}

// Four codes as the pairs (0, 2) and (1, 3).
static inline void store_pairs(uint32_t codes, int16_t* to) {
  const uint32_t even = even_dsp(codes), odd = odd_dsp(codes);
  memcpy(to, &even, sizeof even);
  memcpy(to + 2, &odd, sizeof odd);
}

// Text of assembly: the sums s0 to s3 become products with two multipliers in turn, rounded to nearest even and saturated.
#define ITG_SCALE_FOUR_DSP(even, odd) \
  "vcvt.f32.s32 s0, s0\n"             \
  "vcvt.f32.s32 s1, s1\n"             \
  "vcvt.f32.s32 s2, s2\n"             \
  "vcvt.f32.s32 s3, s3\n"             \
  "vmul.f32 s0, s0, " even            \
  "\n"                                \
  "vmul.f32 s1, s1, " odd             \
  "\n"                                \
  "vmul.f32 s2, s2, " even            \
  "\n"                                \
  "vmul.f32 s3, s3, " odd             \
  "\n"                                \
  "vcvtr.s32.f32 s0, s0\n"            \
  "vcvtr.s32.f32 s1, s1\n"            \
  "vcvtr.s32.f32 s2, s2\n"            \
  "vcvtr.s32.f32 s3, s3\n"

// requant.h with the conversion that rounds and saturates in one instruction, for Cortex-M. Rounding and
// clamp commute, since the limits are integers. Sessions run with rounding to nearest even.

// OutputS8 in codes, made once a call.
struct OutputDsp {
  int32_t zero_point, lo, hi;
  bool narrow;  // not all 256 codes are allowed
};

static inline OutputDsp make_output_dsp(const OutputS8& output) {
  const int32_t lo = static_cast<int32_t>(output.lo_minus_zero_point) + output.zero_point;
  const int32_t hi = static_cast<int32_t>(output.hi_minus_zero_point) + output.zero_point;
  return {output.zero_point, lo, hi, lo > -128 || hi < 127};
}

__attribute__((always_inline)) static inline int32_t requantize_dsp(int32_t acc, float multiplier,
                                                                    const OutputDsp& output) {
  const float v = static_cast<float>(acc) * multiplier;
#if defined(__ARM_FP)
  float rounded;
  __asm__("vcvtr.s32.f32 %0, %1" : "=t"(rounded) : "t"(v));
  int32_t q;
  memcpy(&q, &rounded, sizeof q);
  q = __ssat(__qadd(q, output.zero_point), 8);
  if (output.narrow) {
    q = q > output.lo ? q : output.lo;
    q = q < output.hi ? q : output.hi;
  }
  return q;
#else
  return clamp_and_round_s8(v, make_output_s8(output.zero_point, output.lo, output.hi));
#endif
}

}  // namespace intaglio
