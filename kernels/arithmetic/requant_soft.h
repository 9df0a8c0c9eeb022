// requantize_s8() for plain loops. Where floating point is software (Cortex-M0+, M3, M23), a call of it takes hundreds of
// instructions. Two products of 32 bits give the same code in some forty, unless the result is near a half, where the float
// operations' own rounding decides: about one sum in 130.
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

// OutputS8 in integers, made once a call.
struct OutputSoft {
  int32_t zero_point, lo, hi;  // the limits less the zero point
};

static inline OutputSoft make_output_soft(const OutputS8& output) {
  return {output.zero_point, static_cast<int32_t>(output.lo_minus_zero_point),
          static_cast<int32_t>(output.hi_minus_zero_point)};
}

// requantize_s8() without floating point, or kUndecided: the result is near a half, or the multiplier outside [2^-23, 2^9).
//
// With the multiplier m * 2^e, m rounded to 16 bits, v = acc * multiplier is computed with 22 fractional bits. Below 256, where
// alone it matters, it is off by less than kNear: 2^-8 from m, 2^-15 from the float operations, one unit from the shift.
inline constexpr int32_t kUndecided = 128;
static inline int32_t requantize_by_words(int32_t acc, float multiplier, const OutputSoft& output) {
  constexpr int32_t kFraction = 22;
  constexpr uint32_t kHalf = 1u << (kFraction - 1), kNear = (1u << (kFraction - 8)) + (1u << (kFraction - 14));
  uint32_t bits;
  memcpy(&bits, &multiplier, sizeof bits);
  bits += 1u << 7;
  const uint32_t shift = (bits >> 23) - 104;
  if (shift > 31) return kUndecided;
  const uint32_t m = (bits << 8 | 1u << 31) >> 16;
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(acc) << shift);
  int32_t v;
  if (shifted >> shift != acc) {  // v is at least 256 - 2^-9
    v = acc < 0 ? output.lo : output.hi;
  } else {
    const uint32_t lower = (static_cast<uint32_t>(shifted) & 0xffff) * m;
    const int32_t fixed = (shifted >> 16) * static_cast<int32_t>(m) + static_cast<int32_t>(lower >> 16);
    const uint32_t from_near = static_cast<uint32_t>(fixed) - (kHalf - kNear);
    if (from_near << (32 - kFraction) <= 2 * kNear << (32 - kFraction)) return kUndecided;
    v = ((fixed >> (kFraction - 1)) + 1) >> 1;
    v = v > output.lo ? v : output.lo;
    v = v < output.hi ? v : output.hi;
  }
  return v + output.zero_point;
}

// requantize_s8(), whichever way is the shorter here.
static inline int8_t requantize_soft(int32_t acc, float multiplier, const OutputS8& output,
                                     const OutputSoft& in_integers) {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FP)
  const int32_t code = requantize_by_words(acc, multiplier, in_integers);
  if (code != kUndecided) return static_cast<int8_t>(code);
#endif
  (void)in_integers;
  return requantize_s8(acc, multiplier, output);
}

}  // namespace intaglio
