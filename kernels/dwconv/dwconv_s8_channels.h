// The scalar depthwise kernel with four channels side by side and requantizing in integers, for cores without DSP extension
// (Cortex-M0+, M3, M23). dwconv_s8_scalar() is the plain form of it, which defines the answer.
#pragma once

#include "kernels/arithmetic/requant_soft.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {
namespace {

inline constexpr int32_t kChannelsAtOnce = 4, kMostChannels = 16;

// One pixel's taps. The assembly below knows how it lies.
struct PixelTaps {
  const int8_t* const* rows;
  const int8_t* const* end;  // of the rows
  ptrdiff_t from;            // the row's first code that is used
  const int8_t* weights;     // the first tap's
  ptrdiff_t next;            // from a tap's weights to the next one's
};

// Adds the products of one channel. Unsigned: sums in between may wrap.
inline uint32_t add_channel(const PixelTaps& at, ptrdiff_t x, ptrdiff_t w, uint32_t sum) {
  const int8_t* weights = at.weights + w;
  for (const int8_t* const* row = at.rows; row != at.end; ++row, weights += at.next)
    sum += static_cast<uint32_t>(int32_t{(*row)[at.from + x]} * *weights);
  return sum;
}

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FEATURE_DSP)

// A code of a row at r4 times its weight at r2, `add` to the sum; r3 is the channel.
#define ITG_NEXT_CHANNEL \
  "ldrsb r0, [r4, r3]\n" \
  "ldrsb r5, [r2, r3]\n" \
  "muls r0, r5\n"

// Adds the products of four channels. 34 cycles of a Cortex-M0+ a tap. r1 the rows, r7 their end, r12 the first code, lr from
// weights to weights, r8 to r11 the sums.
__attribute__((naked, noinline, unused)) void add_four_channels(const PixelTaps*, uint32_t* /*sums*/) {
  __asm__(
      ".syntax unified\n"
      "push {r4, r5, r6, r7, lr}\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "push {r1, r4, r5, r6, r7}\n"
      "ldmia r1!, {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "ldmia r0!, {r1, r7}\n"
      "ldmia r0!, {r2, r3, r4}\n"
      "mov r12, r2\n"
      "mov lr, r4\n"
      "movs r2, r3\n"
      "movs r3, #0\n"
      "1:\n"
      "ldmia r1!, {r4}\n"
      "add r4, r12\n" ITG_NEXT_CHANNEL
      "add r8, r0\n"
      "adds r3, #1\n" ITG_NEXT_CHANNEL
      "add r9, r0\n"
      "adds r3, #1\n" ITG_NEXT_CHANNEL
      "add r10, r0\n"
      "adds r3, #1\n" ITG_NEXT_CHANNEL
      "add r11, r0\n"
      "subs r3, #3\n"
      "add r2, lr\n"
      "cmp r1, r7\n"
      "bne 1b\n"
      "pop {r1}\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "stmia r1!, {r4, r5, r6, r7}\n"
      "pop {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "pop {r4, r5, r6, r7, pc}\n");
}

#undef ITG_NEXT_CHANNEL

#else

inline void add_four_channels(const PixelTaps* at, uint32_t* sums) {
  uint32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  const int8_t* w = at->weights;
  for (const int8_t* const* row = at->rows; row != at->end; ++row, w += at->next) {
    const int8_t* const x = *row + at->from;
    s0 += static_cast<uint32_t>(int32_t{x[0]} * w[0]);
    s1 += static_cast<uint32_t>(int32_t{x[1]} * w[1]);
    s2 += static_cast<uint32_t>(int32_t{x[2]} * w[2]);
    s3 += static_cast<uint32_t>(int32_t{x[3]} * w[3]);
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

#endif

inline void dwconv_s8_by_channels(const DwconvS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  const int32_t outputs = args.channels * args.depth_multiplier;
  PixelTaps at;
  at.rows = args.rows;
  at.next = outputs;
  int8_t* y = args.output;
  for (int32_t p = 0; p < args.pixels; ++p, y += args.output_stride) {
    at.end = at.rows + args.taps;
    const ptrdiff_t behind = static_cast<ptrdiff_t>(p) * args.pixel_step;
    for (int32_t first = 0; first < outputs; first += kMostChannels) {
      const int32_t count = outputs - first < kMostChannels ? outputs - first : kMostChannels;
      uint32_t sums[kMostChannels];
      for (int32_t i = 0; i < count; ++i) sums[i] = static_cast<uint32_t>(args.folded_bias[first + i]);
      int32_t i = 0;
      at.from = behind + first;
      at.weights = args.weights + first;
      if (args.depth_multiplier == 1)
        for (; i + kChannelsAtOnce <= count; i += kChannelsAtOnce) {
          add_four_channels(&at, sums + i);
          at.from += kChannelsAtOnce;
          at.weights += kChannelsAtOnce;
        }
      at.from = behind;
      at.weights = args.weights;
      for (; i < count; ++i)
        sums[i] = add_channel(at, (first + i) / args.depth_multiplier, first + i, sums[i]);
      requantize_run(sums, args.multiplier + first, count, args.requant, output, y + first);
    }
    if (args.pixel_step == 0) at.rows = at.end;
  }
}

}  // namespace
}  // namespace intaglio
