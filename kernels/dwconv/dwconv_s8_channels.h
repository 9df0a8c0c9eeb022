// The scalar depthwise kernel with four channels side by side and requantizing in integers, for cores without DSP extension
// (Cortex-M0+, M3, M23). dwconv_scalar.cc has the plain form of it, which defines the answer. Instructions are those of ARMv6-M; a
// plain loop stands for them where the host tests the rest.
#pragma once

#include "kernels/arithmetic/requant_soft.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {
namespace {

inline constexpr int32_t kChannelsAtOnce = 4, kMostChannels = 16;

// One pixel's taps, from the first channel of some on. The assembly below knows how it lies.
struct PixelTaps {
  const int8_t* const* rows;
  const int8_t* weights;
  int32_t channels;          // a multiple of kChannelsAtOnce
  ptrdiff_t from;            // a row's first code
  ptrdiff_t next;            // from a tap's weights to the next one's
  const int8_t* const* end;  // of the rows
};

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FEATURE_DSP)

// The product of channel r3: of a row at r4 with its weights at r2.
#define ITG_PRODUCT      \
  "ldrsb r0, [r4, r3]\n" \
  "ldrsb r5, [r2, r3]\n" \
  "muls r0, r5\n"

// Adds the products of each channel to its sum, four channels at a time: 35 cycles of a Cortex-M0+ a tap. r1 rows, r7 their end,
// r6 sums, r8 to r11 four of them, r12 a row's first code, lr from weights to weights. On the stack: rows, weights, channels.
__attribute__((naked, noinline, unused)) void add_to_channels(const PixelTaps*, uint32_t* /*sums*/) {
  __asm__(
      ".syntax unified\n"
      "push {r4, r5, r6, r7, lr}\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "push {r4, r5, r6, r7}\n"
      "movs r6, r1\n"
      "ldmia r0!, {r1, r2, r3}\n"
      "push {r1, r2, r3}\n"
      "ldmia r0!, {r1, r2, r7}\n"
      "mov r12, r1\n"
      "mov lr, r2\n"
      "movs r3, #0\n"
      "1:\n"  // four channels
      "ldmia r6!, {r0, r1, r4, r5}\n"
      "mov r8, r0\n"
      "mov r9, r1\n"
      "mov r10, r4\n"
      "mov r11, r5\n"
      "subs r6, #16\n"
      "ldr r1, [sp]\n"
      "ldr r2, [sp, #4]\n"
      "2:\n"  // a tap
      "ldmia r1!, {r4}\n"
      "add r4, r12\n" ITG_PRODUCT
      "add r8, r0\n"
      "adds r3, #1\n" ITG_PRODUCT
      "add r9, r0\n"
      "adds r3, #1\n" ITG_PRODUCT
      "add r10, r0\n"
      "adds r3, #1\n" ITG_PRODUCT
      "add r11, r0\n"
      "subs r3, #3\n"
      "add r2, lr\n"
      "cmp r1, r7\n"
      "bne 2b\n"
      "mov r0, r8\n"
      "mov r1, r9\n"
      "mov r4, r10\n"
      "mov r5, r11\n"
      "stmia r6!, {r0, r1, r4, r5}\n"
      "adds r3, #4\n"
      "ldr r0, [sp, #8]\n"
      "cmp r3, r0\n"
      "bne 1b\n"
      "add sp, #12\n"
      "pop {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "pop {r4, r5, r6, r7, pc}\n");
}

#undef ITG_PRODUCT

#else

// Adds the products of each channel to its sum.
inline void add_to_channels(const PixelTaps* taps, uint32_t* sums) {
  const int8_t* w = taps->weights;
  for (const int8_t* const* row = taps->rows; row != taps->end; ++row, w += taps->next)
    for (int32_t c = 0; c < taps->channels; ++c)
      sums[c] += static_cast<uint32_t>(int32_t{(*row)[taps->from + c]} * w[c]);
}

#endif

// One output's products. Unsigned: sums in between may wrap.
inline uint32_t add_to_channel(const PixelTaps& taps, ptrdiff_t channel, ptrdiff_t output, uint32_t sum) {
  const int8_t* w = taps.weights + output;
  for (const int8_t* const* row = taps.rows; row != taps.end; ++row, w += taps.next)
    sum += static_cast<uint32_t>(int32_t{(*row)[taps.from + channel]} * *w);
  return sum;
}

inline void dwconv_s8_by_channels(const DwconvS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  const int32_t outputs = args.channels * args.depth_multiplier;
  PixelTaps taps;
  taps.rows = args.rows;
  taps.next = outputs;
  int8_t* y = args.output;
  for (int32_t p = 0; p < args.pixels; ++p, y += args.output_stride) {
    taps.end = taps.rows + args.taps;
    const ptrdiff_t behind = static_cast<ptrdiff_t>(p) * args.pixel_step;
    for (int32_t first = 0; first < outputs; first += kMostChannels) {
      const int32_t count = outputs - first < kMostChannels ? outputs - first : kMostChannels;
      uint32_t sums[kMostChannels];
      for (int32_t i = 0; i < count; ++i) sums[i] = static_cast<uint32_t>(args.folded_bias[first + i]);
      taps.channels = args.depth_multiplier == 1 ? count & -kChannelsAtOnce : 0;
      if (taps.channels != 0) {
        taps.from = behind + first;
        taps.weights = args.weights + first;
        add_to_channels(&taps, sums);
      }
      taps.from = behind;
      taps.weights = args.weights;
      for (int32_t i = taps.channels; i < count; ++i)
        sums[i] = add_to_channel(taps, (first + i) / args.depth_multiplier, first + i, sums[i]);
      requantize_run(sums, args.multiplier + first, count, args.requant, output, y + first);
    }
    if (args.pixel_step == 0) taps.rows = taps.end;
  }
}

}  // namespace
}  // namespace intaglio
