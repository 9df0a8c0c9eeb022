// The state of columns_dsp() (gemm_s8_dsp_columns.h). Values of a layer stand in place of its args, values of a tile in
// the frame:
//
//   args                                          frame
//   0 output, 4 bias, 8 flags, 12 multipliers,    the same: what a column ends with and the next one begins with
//   16 zero point, 20 output stride,
//   24 columns                                    24 three output strides, 28 end of the first row,
//                                                 32 address of 36
//   28 rows, 32 single blocks (or passes, where   36 the same
//   there are none), 36 where a column starts,
//   40 passes of four pairs of blocks, 44 where
//   they start, 48 offset of the word that ends
//   with a column, 52 what shifts others' bytes
//   out of it, 56 depths behind the last whole
//   block, 60 lo, 64 hi
//   68 residual, 72 its stride, 76 add            76 residual, 80 its stride, 84 b_multiplier, 88 what the zero points and
//   80 weights                                    the rounding add, 92 a_multiplier, 96 shift, 100 zero point, 104 lo,
//                                                 108 hi
//
// Flags: 1 not all codes are allowed, 2 a residual, 4 whose sum is clamped.
#pragma once

#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

static_assert(offsetof(GemmS8Args, weights) == 8 && offsetof(GemmS8Args, scratch) == 40 &&
                  offsetof(GemmS8Args, requant) == 44 && offsetof(GemmS8Args, n) == 60 &&
                  offsetof(GemmS8Args, taps) == 64 && offsetof(GemmS8Args, k) == 68 &&
                  sizeof(GemmS8Args) >= 84 && sizeof(AddS8) == 32,
              "the assembly reads them");

// Where columns start: by labels of the rest, single blocks, the first two of four pairs, and what is behind them. r3 single
// blocks, r9 whether there is a rest, r11 pairs.
#define ITG_STARTS_DSP(rest, single, first, second, behind) \
  "adr.w r4, " behind                                                      \
  "\n"                                                                     \
  "adr.w r5, " second                                                      \
  "\n"                                                                     \
  "adr.w r6, " first                                                       \
  "\n"                                                                     \
  "sub r5, r6\n" /* bytes of code of two blocks */                         \
  "rsb r10, r11, #0\n"                                                     \
  "and r10, r10, #3\n" /* what the first pass leaves out */                \
  "cmp r11, #0\n"                                                          \
  "it ne\n"                                                                \
  "mlane r4, r10, r5, r6\n"                                                \
  "add r4, #1\n" /* of Thumb code */                                       \
  "str r4, [r0, #44]\n"                                                                    \
  "adr.w r5, " single                                                      \
  "\n"                                                                     \
  "adr.w r6, " rest                                                        \
  "\n"                                                                     \
  "cmp r3, #0\n"                                                           \
  "it ne\n"                                                                \
  "addne r4, r5, #1\n"                                                     \
  "cmp r9, #0\n"                                                           \
  "it ne\n"                                                                \
  "addne r4, r6, #1\n"                                                     \
  "str r4, [r0, #36]\n"

// The values that a tile reads, in place of the args.
#define ITG_BEGIN_DSP \
  "add r1, r0, #8\n"                                           \
  "ldmia r1, {r2, r3, r4, r5, r6, r7, r8, r9, r10}\n"          \
  "vldr s0, [r0, #48]\n"                                       \
  "vldr s1, [r0, #52]\n"                                       \
  "ldr r12, [r0, #44]\n"                                       \
  "ldr r11, [r0, #60]\n"                                       \
  "ldrd r1, lr, [r0, #64]\n"                                   \
  "mul lr, r1, lr\n"                                           \
  "strd r5, r3, [r0]\n"                                        \
  "str r4, [r0, #12]\n"                                        \
  "strd r12, r6, [r0, #16]\n"                                  \
  "strd r11, r10, [r0, #24]\n"                                 \
  "strd r7, r8, [r0, #68]\n"                                   \
  "strd r9, r2, [r0, #76]\n"                                   \
  "vcvt.s32.f32 s0, s0\n"                                      \
  "vcvt.s32.f32 s1, s1\n"                                      \
  "vmov r10, r11, s0, s1\n"                                    \
  "add r10, r12\n"                                             \
  "add r11, r12\n"                                             \
  "strd r10, r11, [r0, #60]\n"                                 \
  "mov r1, #0\n" ITG_FLAG_DSP("1") "cbz r7, 1f\n"             \
  "orr r1, #2\n"                                               \
  "ldrd r10, r11, [r9, #24]\n" ITG_FLAG_DSP("4") "1:\n"       \
  "str r1, [r0, #8]\n"                                         \
  "and r9, lr, #3\n" /* the rest */                            \
  "rsb r10, r9, #4\n"                                          \
  "lsl r10, r10, #3\n"                                         \
  "sub r11, lr, #4\n"                                          \
  "strd r11, r10, [r0, #48]\n"                                 \
  "str r9, [r0, #56]\n"                                        \
  "lsr r3, lr, #2\n"                                           \
  "orr r11, r2, lr\n"                                          \
  "tst r11, #3\n"                                              \
  "ite eq\n"                                                   \
  "lsreq r11, r3, #1\n" /* pairs */                            \
  "movne r11, #0\n"                                            \
  "sub r3, r3, r11, lsl #1\n"                                  \
  "add r1, r11, #3\n"                                          \
  "lsr r1, r1, #2\n"                                           \
  "str r1, [r0, #40]\n"                                        \
  "cmp r3, #0\n"                                               \
  "it ne\n"                                                    \
  "movne r1, r3\n"                                             \
  "cmp r9, #0\n"                                               \
  "it ne\n"                                                    \
  "addne r1, r3, #1\n"                                         \
  "str r1, [r0, #32]\n"
// Where the limits in r10 and r11 leave codes out.
#define ITG_FLAG_DSP(flag) \
  "cmn r10, #128\n"        \
  "it eq\n"                \
  "cmpeq r11, #127\n"      \
  "it ne\n"                \
  "orrne r1, r1, #" flag "\n"

// A tile's frame; what is in r0 moves on to the next one. Then weights are in r1.
#define ITG_ENTER_DSP                                       \
  "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"           \
  "cmp r1, #0\n"                                            \
  "beq.w 50f\n"                                             \
  "sub sp, #112\n"                                          \
  "ldmia r0!, {r2, r3, r4, r5, r6, r7, r8}\n"               \
  "add r8, r2\n"                                            \
  "mla r9, r7, r1, r2\n"                                    \
  "str r9, [r0, #-28]\n"                                    \
  "add r9, r7, r7, lsl #1\n"                                \
  "add r10, sp, #36\n"                                      \
  "stmia sp, {r2, r3, r4, r5, r6, r7}\n"                    \
  "strd r9, r8, [sp, #24]\n"                                \
  "str r10, [sp, #32]\n"                                    \
  "ldmia r0!, {r2, r3, r4, r5, r6, r7, r8, r9, r11, r12}\n" \
  "stmia r10, {r2, r3, r4, r5, r6, r7, r8, r9, r11, r12}\n" \
  "ldmia r0, {r6, r7, r8, lr}\n"                            \
  "cbz r6, 1f\n"                                            \
  "mla r9, r7, r1, r6\n"                                    \
  "str r9, [r0]\n"                                          \
  "ldmia r8, {r2, r3, r4, r5, r8, r9, r11, r12}\n"          \
  "strd r6, r7, [sp, #76]\n"                                \
  "mov r10, #1\n"                                           \
  "sub r6, r8, #1\n"                                        \
  "lsl r10, r10, r6\n"                                      \
  "mls r10, r2, r4, r10\n"                                  \
  "mls r10, r3, r5, r10\n"                                  \
  "strd r5, r10, [sp, #84]\n"                               \
  "strd r4, r8, [sp, #92]\n"                                \
  "strd r9, r11, [sp, #100]\n"                              \
  "str r12, [sp, #108]\n"                                   \
  "1:\n"                                                    \
  "mov r1, lr\n" ITG_LOAD_DSP
#define ITG_LOAD_DSP "ldmia sp, {r0, r2, r7, r8, r9, r10, r11, r12, lr}\n"

#define ITG_LEAVE_DSP \
  "add sp, #112\n"    \
  "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

}  // namespace intaglio
