// Windows of three columns at stride 1 for gemm_s8_dsp: a tile is four windows of a line, and a call multiplies several tiles by
// one column. So a column's weights are read and widened once for all of them, and a word of the picture serves up to three taps.
//
// Scratch, int16 in pairs as even_dsp() and odd_dsp() make them: [lines][k / 4][3 taps][4] of a column; [tiles][4] sums, int32;
// [tiles][lines][k / 4][6 columns of the picture][4].
#pragma once

#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {
namespace {

// The word at `from` + lr of four of a picture's columns, unpacked: r4 to r11.
#define ITG_UNPACK_DSP(even, odd) \
  "sxtb16 " odd ", " even         \
  ", ror #8\n"                    \
  "sxtb16 " even ", " even "\n"

// `k` codes of each of six columns of a picture's line, `from` bytes behind the pointers. Gives where the next line goes.
__attribute__((naked, noinline)) int16_t* widen_columns(const int8_t* const*, int32_t /*k*/, int16_t*,
                                                        int32_t /*from*/) {
  __asm__(
      "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "mov lr, r3\n"
      "add r1, lr\n"
      "1:\n"
      "ldmia r0, {r4, r6, r8, r10}\n"
      "ldr r4, [r4, lr]\n"
      "ldr r6, [r6, lr]\n"
      "ldr r8, [r8, lr]\n"
      "ldr r10, [r10, lr]\n" ITG_UNPACK_DSP("r4", "r5") ITG_UNPACK_DSP("r6", "r7") ITG_UNPACK_DSP("r8", "r9")
          ITG_UNPACK_DSP("r10", "r11")
      "stmia r2!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
      "ldrd r4, r6, [r0, #16]\n"
      "ldr r4, [r4, lr]\n"
      "ldr r6, [r6, lr]\n" ITG_UNPACK_DSP("r4", "r5") ITG_UNPACK_DSP("r6", "r7")
      "stmia r2!, {r4, r5, r6, r7}\n"
      "add lr, #4\n"
      "cmp lr, r1\n"
      "bne 1b\n"
      "mov r0, r2\n"
      "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#define ITG_THREE_TAPS_DSP                                                   \
  "ldr r6, [r0, r1]\n"                                                       \
  "ldr r8, [r0, r1, lsl #1]\n"                                               \
  "ldr r4, [r0], #4\n" ITG_UNPACK_DSP("r4", "r5") ITG_UNPACK_DSP("r6", "r7") \
      ITG_UNPACK_DSP("r8", "r9") "stmia r3!, {r4, r5, r6, r7, r8, r9}\n"

// The weights of a column: `lines` of three taps of k.
__attribute__((naked, noinline)) void widen_weights(const int8_t*, int32_t /*k*/, int32_t /*lines*/,
                                                    int16_t*) {
  __asm__(
      "push {r4, r5, r6, r7, r8, r9, lr}\n"
      "1:\n"
      "add lr, r0, r1\n"
      "tst r1, #4\n"
      "bne 3f\n"
      "2:\n" ITG_THREE_TAPS_DSP "3:\n" ITG_THREE_TAPS_DSP
      "cmp r0, lr\n"
      "bne 2b\n"
      "add r0, r0, r1, lsl #1\n"
      "subs r2, #1\n"
      "bne 1b\n"
      "pop {r4, r5, r6, r7, r8, r9, pc}\n");
}

// What multiply_tiles() reads.
struct TilesDsp {
  const int16_t* x;  // of all tiles
  const int16_t* column;
  const int16_t* column_end;
  int32_t* sums;
  int32_t* sums_end;
  int32_t bias;
};

// A pair of codes of the picture times taps 0 to 2 in r7 to r12, for the windows whose sums are named: four of them share six columns.
#define ITG_PICTURE_DSP "ldmia r0!, {r2, lr}\n"
#define ITG_TAP_DSP(sum, even, odd)   \
  "smlad " sum ", r2, " even ", " sum \
  "\n"                                \
  "smlad " sum ", lr, " odd ", " sum "\n"
#define ITG_TAPS_DSP                                                                                 \
  "ldmia r1!, {r7, r8, r9, r10, r11, r12}\n" ITG_PICTURE_DSP ITG_TAP_DSP("r3", "r7", "r8")           \
      ITG_PICTURE_DSP ITG_TAP_DSP("r3", "r9", "r10") ITG_TAP_DSP("r4", "r7", "r8")                   \
          ITG_PICTURE_DSP ITG_TAP_DSP("r3", "r11", "r12") ITG_TAP_DSP("r4", "r9", "r10")             \
              ITG_TAP_DSP("r5", "r7", "r8") ITG_PICTURE_DSP ITG_TAP_DSP("r4", "r11", "r12")          \
                  ITG_TAP_DSP("r5", "r9", "r10") ITG_TAP_DSP("r6", "r7", "r8")                       \
                      ITG_PICTURE_DSP ITG_TAP_DSP("r5", "r11", "r12") ITG_TAP_DSP("r6", "r9", "r10") \
                          ITG_PICTURE_DSP ITG_TAP_DSP("r6", "r11", "r12")

// Where a column ends goes to `to`.
#if defined(__ARM_FP)
#define ITG_KEEP_END_DSP "vmov s15, r4\n"
#define ITG_END_DSP(to) "vmov " to ", s15\n"
#else
#define ITG_KEEP_END_DSP ""
#define ITG_END_DSP(to) "ldr " to ", [sp, #8]\n"
#endif

// The sums of all tiles, a multiple of three blocks each: 49 cycles for 48 products.
__attribute__((naked, noinline)) void multiply_tiles(const TilesDsp*) {
  __asm__(
      "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "sub sp, #24\n"
      "ldmia r0, {r2, r3, r4, r5, r6, r7}\n"
      "stmia sp, {r2, r3, r4, r5, r6, r7}\n"
      "mov r0, r2\n" ITG_KEEP_END_DSP
      "1:\n"
      "ldr r3, [sp, #20]\n"
      "ldr r1, [sp, #4]\n"
      "mov r4, r3\n"
      "mov r5, r3\n"
      "mov r6, r3\n"
      "2:\n" ITG_TAPS_DSP ITG_TAPS_DSP ITG_TAPS_DSP ITG_END_DSP("r2")
      "cmp r1, r2\n"
      "bne 2b\n"
      "ldrd r2, lr, [sp, #12]\n"
      "stmia r2!, {r3, r4, r5, r6}\n"
      "cmp r2, lr\n"
      "str r2, [sp, #12]\n"
      "bne 1b\n"
      "add sp, #24\n"
      "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#undef ITG_UNPACK_DSP
#undef ITG_THREE_TAPS_DSP
#undef ITG_PICTURE_DSP
#undef ITG_TAP_DSP
#undef ITG_TAPS_DSP
#undef ITG_KEEP_END_DSP
#undef ITG_END_DSP

// requantize_s8() of a multiple of four sums, whose codes stand `stride` apart: 10 cycles each.
#if defined(__ARM_FP)
__attribute__((naked, noinline)) void requantize_fours(const int32_t* /*sums*/, const int32_t* /*end*/,
                                                       int8_t* /*y*/, size_t /*stride*/,
                                                       int32_t /*zero_point*/, const float* /*multiplier*/) {
  __asm__(
      "push {r4, r5, r6, r7, r8, lr}\n"
      "ldrd r12, r4, [sp, #24]\n"
      "vldr s4, [r4]\n"
      "add r8, r3, r3, lsl #1\n"
      "1:\n"
      "vldmia r0!, {s0, s1, s2, s3}\n"
      ITG_SCALE_FOUR_DSP("s4", "s4")
      "vmov r4, r5, s0, s1\n"
      "vmov r6, r7, s2, s3\n"
      "qadd r4, r4, r12\n"
      "qadd r5, r5, r12\n"
      "qadd r6, r6, r12\n"
      "qadd r7, r7, r12\n"
      "ssat r4, #8, r4\n"
      "ssat r5, #8, r5\n"
      "ssat r6, #8, r6\n"
      "ssat r7, #8, r7\n"
      "strb r5, [r2, r3]\n"
      "strb r6, [r2, r3, lsl #1]\n"
      "strb r7, [r2, r8]\n"
      "strb r4, [r2]\n"
      "add r2, r2, r3, lsl #2\n"
      "cmp r0, r1\n"
      "bne 1b\n"
      "pop {r4, r5, r6, r7, r8, pc}\n");
}
#else
inline void requantize_fours(const int32_t* sums, const int32_t* end, int8_t* y, size_t stride,
                             int32_t zero_point, const float* multiplier) {
  for (; sums != end; ++sums, y += stride)
    *y = static_cast<int8_t>(requantize_dsp(*sums, *multiplier, {zero_point, -128, 127, false}));
}
#endif

// What add_residuals() reads.
struct ResidualsDsp {
  const int8_t* codes;
  const int8_t* end;
  int8_t* y;
  size_t stride;
  const int8_t* residual;
  size_t residual_stride;
  int32_t code_multiplier, residual_multiplier, rest, shift, zero_point;
};

// add_s8() of codes that stand side by side, where no code is left out: 15 cycles each.
__attribute__((naked, noinline)) void add_residuals(const ResidualsDsp*) {
  __asm__(
      "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "mov r11, r0\n"
      "ldmia r11!, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}\n"
      "1:\n"
      "ldrsb r11, [r0], #1\n"
      "ldrsb r12, [r4]\n"
      "add r4, r5\n"
      "mla r12, r12, r7, r8\n"
      "mla r11, r11, r6, r12\n"
      "asr r11, r11, r9\n"
      "add r11, r10\n"
      "ssat r11, #8, r11\n"
      "strb r11, [r2]\n"
      "add r2, r3\n"
      "cmp r0, r1\n"
      "bne 1b\n"
      "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

// All columns of some tiles that were widened to `x`, with a column and sums before it.
[[gnu::noinline]] inline void columns_of_tiles_dsp(const GemmS8Args& args, int32_t tiles, int16_t* x) {
  const OutputDsp output = make_output_dsp(args.requant);
  const int32_t depth = args.taps * args.k, count = 4 * tiles;
  auto* const sums = reinterpret_cast<int32_t*>(x) - count;
  auto* const column = static_cast<int16_t*>(args.scratch);
  TilesDsp all = {x, column, column + depth, sums, sums + count, 0};
  const auto* w = static_cast<const int8_t*>(args.weights);
  const AddS8* const add = args.residual == nullptr ? nullptr : args.add;
  auto* const codes = reinterpret_cast<int8_t*>(sums);
  ResidualsDsp residuals = {
      codes, codes + count, args.output, args.output_stride, args.residual, args.residual_stride, 0, 0, 0, 0,
      0};
  if (add != nullptr) {
    residuals.code_multiplier = add->a_multiplier;
    residuals.residual_multiplier = add->b_multiplier;
    residuals.rest = (int32_t{1} << (add->right_shift - 1)) - add->a_zero_point * add->a_multiplier -
                     add->b_zero_point * add->b_multiplier;
    residuals.shift = add->right_shift;
    residuals.zero_point = add->zero_point;
  }
  for (int32_t c = 0; c < args.n; ++c, w += depth) {
    widen_weights(w, args.k, args.taps / 3, column);
    all.bias = args.folded_bias[c];
    multiply_tiles(&all);
    requantize_fours(sums, sums + count, add == nullptr ? residuals.y : codes,
                     add == nullptr ? args.output_stride : 1, output.zero_point, args.multiplier + c);
    if (add == nullptr) {
      clamp_codes(residuals.y, args.output_stride, count, output.lo, output.hi);
    } else {
      clamp_codes(codes, 1, count, output.lo, output.hi);
      add_residuals(&residuals);
      ++residuals.residual;
      clamp_codes(residuals.y, args.output_stride, count, add->lo, add->hi);
    }
    ++residuals.y;
  }
}

}  // namespace
}  // namespace intaglio
