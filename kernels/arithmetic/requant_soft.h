// requantize_s8() of several sums. Where floating point is software (Cortex-M0+, M3, M23), a call of it takes hundreds of
// instructions. Two products of 32 bits give the same code in some forty, unless the result is near a half, where the float
// operations' own rounding decides: about one sum in 130.
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FP)
inline constexpr bool kFloatIsSoftware = true;
#else
inline constexpr bool kFloatIsSoftware = false;
#endif

// OutputS8 in integers, made once a call: the lowest code, how many are above it, and the value of it.
struct OutputSoft {
  int32_t lowest_code;
  uint32_t codes_above;
  int32_t lowest_value;
};

static inline OutputSoft make_output_soft(const OutputS8& output) {
  const auto lo = static_cast<int32_t>(output.lo_minus_zero_point),
             hi = static_cast<int32_t>(output.hi_minus_zero_point);
  return {lo + output.zero_point, static_cast<uint32_t>(hi - lo), lo};
}

// requantize_s8() without floating point, or kUndecided: the result is near a half, or the multiplier outside [2^-23, 2^9).
//
// With the multiplier m * 2^e, m rounded to 16 bits, v = acc * multiplier is computed with kFraction fractional bits. Below 256,
// where alone it matters, it is off by less than kNear: 2^-8 from m, 2^-15 from the float operations, a unit from the shift.
inline constexpr int32_t kUndecided = 128;
inline constexpr int32_t kFraction = 22;
inline constexpr uint32_t kNear = (1u << (kFraction - 8)) + (1u << (kFraction - 14));
static inline int32_t requantize_by_words(int32_t acc, float multiplier, const OutputSoft& output) {
  uint32_t bits;
  memcpy(&bits, &multiplier, sizeof bits);
  bits += 1u << 7;
  const uint32_t shift = (bits >> 23) - 104;
  if (shift > 31) return kUndecided;
  const uint32_t m = (bits << 8 | 1u << 31) >> 16;
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(acc) << shift);
  uint32_t above;                 // the lowest value
  if (shifted >> shift != acc) {  // |v| is at least 256 - 2^-8
    above = acc < 0 ? 0 : output.codes_above;
  } else {
    const uint32_t lower = (static_cast<uint32_t>(shifted) & 0xffff) * m;
    const int32_t fixed = (shifted >> 16) * static_cast<int32_t>(m) + static_cast<int32_t>(lower >> 16);
    constexpr int32_t kWhole = 32 - kFraction;
    if ((static_cast<uint32_t>(fixed) << kWhole) + (1u << 31) + (kNear << kWhole) <= kNear << (kWhole + 1))
      return kUndecided;
    const int32_t v = ((fixed >> (kFraction - 1)) + 1) >> 1;
    above = static_cast<uint32_t>(v - output.lowest_value);
    if (above > output.codes_above) above = v < output.lowest_value ? 0 : output.codes_above;
  }
  return output.lowest_code + static_cast<int32_t>(above);
}

// Sums of neighbouring channels and their codes; the pointers move on. The assembly below knows how it lies.
struct SoftRun {
  const uint32_t* sums;
  const float* multiplier;
  int8_t* y;
  const uint32_t* end;  // of the sums
  OutputSoft output;
};

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FP)

static_assert(kNear == 130 << 7 && kFraction == 22);

// requantize_by_words(), 42 cycles of a Cortex-M0+ a code. Ends at the first sum that is undecided. r4 sums, r5 from a sum to its
// multiplier, r6 codes, r7 the end; r8 to lr constants.
__attribute__((naked, noinline, unused)) static void requantize_decided(SoftRun*) {
  __asm__(
      ".syntax unified\n"
      "push {r4, r5, r6, r7, lr}\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "push {r0, r4, r5, r6, r7}\n"
      "ldmia r0!, {r4, r5, r6, r7}\n"
      "subs r5, r4\n"
      "ldmia r0!, {r1, r2, r3}\n"
      "mov lr, r1\n"   // the lowest code
      "mov r12, r2\n"  // codes above it
      "rsbs r3, r3, #0\n"
      "mov r11, r3\n"  // the lowest value, negative
      "movs r0, #128\n"
      "lsls r1, r0, #8\n"
      "mov r8, r1\n"  // the mantissa's first bit, 2^15
      "movs r1, #130\n"
      "lsls r1, #18\n"
      "mov r10, r1\n"  // twice kNear << 10
      "lsls r0, #24\n"
      "lsrs r1, #1\n"
      "adds r0, r1\n"
      "mov r9, r0\n"  // a half and kNear << 10
      "1:\n"
      "ldr r1, [r4, r5]\n"  // the multiplier, rounded to a mantissa of 16 bits
      "ldr r0, [r4]\n"
      "adds r1, #128\n"
      "lsrs r2, r1, #23\n"
      "subs r2, #104\n"
      "cmp r2, #31\n"
      "bhi 5f\n"
      "movs r3, r0\n"  // the sum, shifted; where bits are lost, it passes every code
      "lsls r3, r2\n"
      "asrs r3, r2\n"
      "cmp r3, r0\n"
      "bne 4f\n"
      "lsls r3, r2\n"
      "lsls r1, #9\n"
      "lsrs r1, #17\n"
      "add r1, r8\n"
      "uxth r2, r3\n"  // times the mantissa, by halfwords
      "muls r2, r1\n"
      "lsrs r2, #16\n"
      "asrs r3, #16\n"
      "muls r3, r1\n"
      "adds r3, r2\n"
      "lsls r2, r3, #10\n"  // near a half?
      "add r2, r9\n"
      "cmp r2, r10\n"
      "bls 5f\n"
      "asrs r3, #21\n"
      "adds r3, #1\n"
      "asrs r3, #1\n"
      "add r3, r11\n"  // from the lowest value
      "cmp r3, r12\n"
      "bhi 3f\n"
      "2:\n"
      "add r3, lr\n"
      "strb r3, [r6]\n"
      "adds r6, #1\n"
      "adds r4, #4\n"
      "cmp r4, r7\n"
      "bne 1b\n"
      "b 5f\n"
      "3:\n"  // below the lowest or above the highest code
      "movs r0, r3\n"
      "4:\n"
      "mvns r3, r0\n"
      "asrs r3, #31\n"
      "mov r0, r12\n"
      "ands r3, r0\n"
      "b 2b\n"
      "5:\n"
      "pop {r0}\n"
      "adds r5, r4\n"
      "stmia r0!, {r4, r5, r6}\n"
      "pop {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "pop {r4, r5, r6, r7, pc}\n");
}

#else

static inline void requantize_decided(SoftRun* run) {
  for (; run->sums != run->end; ++run->sums, ++run->multiplier) {
    const int32_t code = requantize_by_words(static_cast<int32_t>(*run->sums), *run->multiplier, run->output);
    if (code == kUndecided) return;
    *run->y++ = static_cast<int8_t>(code);
  }
}

#endif

// Codes of `count` sums, at least one, of neighbouring channels.
static inline void requantize_run(const uint32_t* sums, const float* multiplier, int32_t count,
                                  const OutputS8& output, const OutputSoft& in_integers, int8_t* y) {
  if (!kFloatIsSoftware) {
    for (int32_t i = 0; i < count; ++i)
      y[i] = requantize_s8(static_cast<int32_t>(sums[i]), multiplier[i], output);
    return;
  }
  SoftRun run = {sums, multiplier, y, sums + count, in_integers};
  do {
    requantize_decided(&run);
    if (run.sums == run.end) return;
    *run.y++ = requantize_s8(static_cast<int32_t>(*run.sums++), *run.multiplier++, output);
  } while (run.sums != run.end);
}

}  // namespace intaglio
