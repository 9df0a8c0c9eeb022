// requantize_s8() of several sums. Where floating point is software (Cortex-M0+, M3, M23), a call of it takes hundreds of
// instructions. Two products of 32 bits give the same code in some forty, unless the result is near a half, where the float
// operations' own rounding decides: about one sum in 130.
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

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

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FP)

// Sums of neighbouring channels and their codes; the pointers move on. The assembly knows how it lies, and the constants above.
struct SoftRun {
  const uint32_t* sums;
  const float* multiplier;
  int8_t* y;
  const uint32_t* end;  // of the sums
  OutputSoft output;
};
static_assert(kNear == 130 << 7 && kFraction == 22);

// requantize_by_words() of one sum after the other, 42 cycles each on a Cortex-M0+. Ends at the first one that is undecided.
//
// r4 the sum, r5 from a sum to its multiplier, r6 the code, r7 the end of the sums; r8 2^15, r9 2^31 + (kNear << 10), r10 twice
// kNear << 10, r11 the lowest value, negative, r12 how many codes are above it, lr its code.
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
      "mov lr, r1\n"
      "mov r12, r2\n"
      "rsbs r3, r3, #0\n"
      "mov r11, r3\n"
      "movs r0, #128\n"
      "lsls r1, r0, #8\n"
      "mov r8, r1\n"
      "movs r1, #130\n"
      "lsls r1, #18\n"
      "mov r10, r1\n"
      "lsls r0, #24\n"
      "lsrs r1, #1\n"
      "adds r0, r1\n"
      "mov r9, r0\n"
      "1:\n"
      // r1: the multiplier, to be rounded to 16 bits; r2: by how much the sum is shifted.
      "ldr r1, [r4, r5]\n"
      "ldr r0, [r4]\n"
      "adds r1, #128\n"
      "lsrs r2, r1, #23\n"
      "subs r2, #104\n"
      "cmp r2, #31\n"
      "bhi 5f\n"
      // r3: the sum r0, shifted. Where it does not come back, it is past every code.
      "movs r3, r0\n"
      "lsls r3, r2\n"
      "asrs r3, r2\n"
      "cmp r3, r0\n"
      "bne 4f\n"
      "lsls r3, r2\n"
      // r1: the multiplier's 16 bits.
      "lsls r1, #9\n"
      "lsrs r1, #17\n"
      "add r1, r8\n"
      // r3: their product less its lower 16 bits, from two halves.
      "uxth r2, r3\n"
      "muls r2, r1\n"
      "lsrs r2, #16\n"
      "asrs r3, #16\n"
      "muls r3, r1\n"
      "adds r3, r2\n"
      // Near a half?
      "lsls r2, r3, #10\n"
      "add r2, r9\n"
      "cmp r2, r10\n"
      "bls 5f\n"
      // r3: rounded, from the lowest value on.
      "asrs r3, #21\n"
      "adds r3, #1\n"
      "asrs r3, #1\n"
      "add r3, r11\n"
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
      // Outside the codes: r3 becomes 0 where r0 is negative, else the highest.
      "3:\n"
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

// requantize_s8() of `count` sums, at least one, of neighbouring channels; whichever way is the shorter here.
static inline void requantize_run(const uint32_t* sums, const float* multiplier, int32_t count,
                                  const OutputS8& output, const OutputSoft& in_integers, int8_t* y) {
  SoftRun run = {sums, multiplier, y, sums + count, in_integers};
  do {
    requantize_decided(&run);
    if (run.sums == run.end) return;
    *run.y++ = requantize_s8(static_cast<int32_t>(*run.sums++), *run.multiplier++, output);
  } while (run.sums != run.end);
}

#else

static inline void requantize_run(const uint32_t* sums, const float* multiplier, int32_t count,
                                  const OutputS8& output, const OutputSoft&, int8_t* y) {
  for (int32_t i = 0; i < count; ++i)
    y[i] = requantize_s8(static_cast<int32_t>(sums[i]), multiplier[i], output);
}

#endif

}  // namespace intaglio
