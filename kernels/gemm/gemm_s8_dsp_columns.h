// The loops of gemm_s8_dsp: all columns of four rows, or of one. They use every register, so each is a whole function
// of assembly, which keeps in its frame what a column needs once:
//
//   0 flags, 4 zero point, 8 output stride, 12 three times that, 16 output, 20 end of its first row, 24 bias,
//   28 multipliers, 32 rows, 36 single blocks (or passes, where there are none), 40 where a column starts, 44 passes of four
//   pairs of blocks, 48 where they start, 52 offset of the word that ends with a column, 56 what shifts others' bytes
//   out of it, 60 depths behind the last whole block, 64 lo, 68 hi, 72 depth, 76 residual, 80 its stride, 84 add
//
// A column: the rest, then single blocks, then pairs of blocks, four a pass. Where weights are not aligned all blocks are
// single, since ldm wants aligned words.
#pragma once

#include "kernels/gemm/gemm_s8.h"
#if !defined(__ARM_FP)
#include "kernels/gemm/gemm_s8_dsp_soft.h"
#else

namespace intaglio {

static_assert(offsetof(GemmS8Args, weights) == 8 && offsetof(GemmS8Args, folded_bias) == 12 &&
                  offsetof(GemmS8Args, multiplier) == 16 && offsetof(GemmS8Args, output_stride) == 24 &&
                  offsetof(GemmS8Args, residual_stride) == 32 && offsetof(GemmS8Args, add) == 36 &&
                  offsetof(GemmS8Args, requant) == 44 && offsetof(GemmS8Args, n) == 60 &&
                  offsetof(GemmS8Args, taps) == 64 && offsetof(GemmS8Args, k) == 68 && sizeof(AddS8) == 32,
              "the assembly reads them");

// Fills the frame; weights stay in r1. Labels, those of four rows less than 20: 2 the rest, 3 single blocks, 6 and 7
// the first two of four pairs, 8 behind them.
#define ITG_ENTER_DSP                                      \
  "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"          \
  "sub sp, #92\n"                                          \
  "ldr r12, [r0, #56]\n"                                   \
  "cmp r12, #4\n"                                          \
  "adr.w r4, 8f\n"                                         \
  "adr.w r5, 7f\n"                                         \
  "adr.w r6, 6f\n"                                         \
  "adr.w r7, 2f\n"                                         \
  "adr.w r8, 3f\n"                                         \
  "beq 5f\n"                                               \
  "adr.w r4, 28f\n"                                        \
  "adr.w r5, 27f\n"                                        \
  "adr.w r6, 26f\n"                                        \
  "adr.w r7, 22f\n"                                        \
  "adr.w r8, 23f\n"                                        \
  "5:\n"                                                   \
  "ldrd r9, r10, [r0, #32]\n" /* residual's stride, add */ \
  "strd r3, r9, [sp, #76]\n"                               \
  "str r10, [sp, #84]\n"                                   \
  "cmp r3, #0\n"                                           \
  "ite ne\n"                                               \
  "movne r3, #2\n"                                         \
  "moveq r3, #0\n"                                         \
  "ldr r9, [r0, #44]\n" /* zero point */                   \
  "vldr s0, [r0, #48]\n"                                   \
  "vldr s1, [r0, #52]\n"                                   \
  "vcvt.s32.f32 s0, s0\n"                                  \
  "vcvt.s32.f32 s1, s1\n"                                  \
  "vmov r10, r11, s0, s1\n"                                \
  "add r10, r9\n"                                          \
  "add r11, r9\n"                                          \
  "strd r10, r11, [sp, #64]\n"                             \
  "cmn r10, #128\n"                                        \
  "it eq\n"                                                \
  "cmpeq r11, #127\n"                                      \
  "it ne\n"                                                \
  "orrne r3, r3, #1\n"                                     \
  "strd r3, r9, [sp]\n"                                    \
  "ldr r9, [r0, #24]\n"                                    \
  "add r10, r9, r9, lsl #1\n"                              \
  "strd r9, r10, [sp, #8]\n"                               \
  "ldr r3, [r0, #60]\n"                                    \
  "add r3, r2\n"                                           \
  "strd r2, r3, [sp, #16]\n"                               \
  "ldrd r9, r10, [r0, #12]\n"                              \
  "strd r9, r10, [sp, #24]\n"                              \
  "str r1, [sp, #32]\n"                                    \
  "ldrd r9, r10, [r0, #64]\n"                              \
  "mul r3, r9, r10\n" /* the depth */                      \
  "str r3, [sp, #72]\n"                                    \
  "ldr r1, [r0, #8]\n"                                     \
  "and r9, r3, #3\n" /* the rest */                        \
  "rsb r10, r9, #4\n"                                      \
  "lsl r10, r10, #3\n"                                     \
  "sub r11, r3, #4\n"                                      \
  "strd r11, r10, [sp, #52]\n"                             \
  "str r9, [sp, #60]\n"                                    \
  "lsr r2, r3, #2\n"                                       \
  "orr r11, r1, r3\n"                                      \
  "tst r11, #3\n"                                          \
  "ite eq\n"                                               \
  "lsreq r11, r2, #1\n" /* pairs */                        \
  "movne r11, #0\n"                                        \
  "sub r2, r2, r11, lsl #1\n"                              \
  "sub r5, r6\n" /* bytes of code of two blocks */         \
  "rsb r10, r11, #0\n"                                     \
  "and r10, r10, #3\n" /* what the first pass leaves out */\
  "cmp r11, #0\n"                                          \
  "it ne\n"                                                \
  "mlane r4, r10, r5, r6\n"                                \
  "add r4, #1\n" /* of Thumb code */                       \
  "add r11, #3\n"                                          \
  "lsr r11, r11, #2\n"                                     \
  "strd r11, r4, [sp, #44]\n"                              \
  "cmp r2, #0\n"                                           \
  "itt ne\n"                                               \
  "movne r11, r2\n"                                        \
  "addne r4, r8, #1\n"                                     \
  "cmp r9, #0\n"                                           \
  "itt ne\n"                                               \
  "addne r11, r2, #1\n"                                    \
  "addne r4, r7, #1\n"                                     \
  "strd r11, r4, [sp, #36]\n"                              \
  "cmp r12, #4\n"                                          \
  "bne 21f\n"

#define ITG_LEAVE_DSP \
  "add sp, #92\n"     \
  "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

#define ITG_CLAMP_DSP(q) \
  "cmp " q               \
  ", r11\n"              \
  "it lt\n"              \
  "movlt " q             \
  ", r11\n"              \
  "cmp " q               \
  ", r12\n"              \
  "it gt\n"              \
  "movgt " q ", r12\n"

// add_s8() in two parts. Before: its multipliers to r7 and r8, its shift to r9, its constants in one to r10, the
// residual and its stride to r0 and r2; r12 stays for what comes after.
#define ITG_ADD_DSP                    \
  "ldr r12, [sp, #84]\n"               \
  "ldmia r12!, {r0, r2, r7, r8, r9}\n" \
  "mov r10, #1\n"                      \
  "sub r11, r9, #1\n"                  \
  "lsl r10, r10, r11\n"                \
  "mls r10, r0, r7, r10\n"             \
  "mls r10, r2, r8, r10\n"             \
  "ldrd r0, r2, [sp, #76]\n"
#define ITG_ADD_EACH_DSP(q, from) \
  "ldrsb r11, " from              \
  "\n"                            \
  "mla r11, r11, r8, r10\n"       \
  "mla " q ", " q                 \
  ", r7, r11\n"                   \
  "asr " q ", " q ", r9\n"
#define ITG_ADD_ZERO_POINT_DSP(q) \
  "add " q                        \
  ", r0\n"                        \
  "ssat " q ", #8, " q "\n"
// Equal where all 256 codes are allowed.
#define ITG_ADD_END_DSP                   \
  "ldmia sp, {r0, r2, r7, r8, r9, r10}\n" \
  "cmn r11, #128\n"                       \
  "it eq\n"                               \
  "cmpeq r12, #127\n"

// The word in `w` against four rows' next block; sums in r3 to r6, rows at r0.
#define ITG_BLOCK_DSP(w)            \
  "sxtb16 lr, " w                   \
  "\n"                              \
  "sxtb16 " w ", " w                \
  ", ror #8\n"                      \
  "ldmia r0!, {r8, r9, r10, r11}\n" \
  "smlad r3, lr, r8, r3\n"          \
  "smlad r4, lr, r10, r4\n"         \
  "smlad r3, " w                    \
  ", r9, r3\n"                      \
  "smlad r4, " w                    \
  ", r11, r4\n"                     \
  "ldmia r0!, {r8, r9, r10, r11}\n" \
  "smlad r5, lr, r8, r5\n"          \
  "smlad r6, lr, r10, r6\n"         \
  "smlad r5, " w                    \
  ", r9, r5\n"                      \
  "smlad r6, " w ", r11, r6\n"
#define ITG_BLOCKS_DSP "ldmia r1!, {r7, r12}\n" ITG_BLOCK_DSP("r7") ITG_BLOCK_DSP("r12")

// The word in `w` of a column whose sum is `sum`, against the pairs in two registers.
#define ITG_COLUMN_DSP(w, sum, even, odd) \
  "sxtb16 r12, " w                        \
  "\n"                                    \
  "sxtb16 " w ", " w                      \
  ", ror #8\n"                            \
  "smlad " sum ", r12, " even ", " sum    \
  "\n"                                    \
  "smlad " sum ", " w ", " odd ", " sum "\n"
#define ITG_COLUMNS_DSP                                                                        \
  "ldmia r0!, {r8, r9, r10, r11}\n"                                                            \
  "ldmia r1!, {r6, r7}\n" ITG_COLUMN_DSP("r6", "r4", "r8", "r9") ITG_COLUMN_DSP(               \
      "r7", "r4", "r10", "r11") "ldmia r2!, {r6, r7}\n" ITG_COLUMN_DSP("r6", "r5", "r8", "r9") \
      ITG_COLUMN_DSP("r7", "r5", "r10", "r11")

// All columns of four rows where args.m is 4; else of one, two at a time, and a last odd one twice over. `x` are
// the rows as they were widened, `y` and `residual` (or nullptr) where the first of them are. Aligned, since
// adr counts from a multiple of 4.
__attribute__((naked, noinline, aligned(4))) static void columns_dsp(const GemmS8Args&, const int16_t*,
                                                                     int8_t*, const int8_t*) {
  __asm__(ITG_ENTER_DSP
          "1:\n"
          "ldrd r2, r4, [sp, #24]\n"
          "ldr r3, [r2], #4\n"
          "vldmia r4!, {s4}\n"
          "strd r2, r4, [sp, #24]\n"
          "ldrd r0, r2, [sp, #32]\n"
          "mov r4, r3\n"
          "mov r5, r3\n"
          "mov r6, r3\n"
          "ldr pc, [sp, #40]\n"
          "2:\n"
          "ldrd r7, r12, [sp, #52]\n"
          "ldr r7, [r1, r7]\n"
          "lsr r7, r7, r12\n"
          "b 4f\n"
          "3:\n"
          "ldr r7, [r1], #4\n"
          "4:\n" ITG_BLOCK_DSP("r7")
          "subs r2, #1\n"
          "bne 3b\n"
          "ldr r7, [sp, #60]\n"
          "add r1, r7\n"
          "ldr r2, [sp, #44]\n"
          "ldr pc, [sp, #48]\n"
          "6:\n" ITG_BLOCKS_DSP
          "7:\n" ITG_BLOCKS_DSP ITG_BLOCKS_DSP ITG_BLOCKS_DSP
          "subs r2, #1\n"
          "bne 6b\n"
          "8:\n"
          "vmov s0, s1, r3, r4\n"
          "vmov s2, s3, r5, r6\n"
          "vcvt.f32.s32 s0, s0\n"
          "vcvt.f32.s32 s1, s1\n"
          "vcvt.f32.s32 s2, s2\n"
          "vcvt.f32.s32 s3, s3\n"
          "vmul.f32 s0, s0, s4\n"
          "vmul.f32 s1, s1, s4\n"
          "vmul.f32 s2, s2, s4\n"
          "vmul.f32 s3, s3, s4\n"
          "vcvtr.s32.f32 s0, s0\n"
          "vcvtr.s32.f32 s1, s1\n"
          "vcvtr.s32.f32 s2, s2\n"
          "vcvtr.s32.f32 s3, s3\n"
          "vmov r3, r4, s0, s1\n"
          "vmov r5, r6, s2, s3\n"
          "ldmia sp, {r0, r2, r7, r8, r9, r10}\n"
          "qadd r3, r3, r2\n"
          "qadd r4, r4, r2\n"
          "qadd r5, r5, r2\n"
          "qadd r6, r6, r2\n"
          "ssat r3, #8, r3\n"
          "ssat r4, #8, r4\n"
          "ssat r5, #8, r5\n"
          "ssat r6, #8, r6\n"
          "cbnz r0, 10f\n"
          "9:\n"
          "strb r4, [r9, r7]\n"
          "strb r5, [r9, r7, lsl #1]\n"
          "strb r6, [r9, r8]\n"
          "strb r3, [r9], #1\n"
          "str r9, [sp, #16]\n"
          "cmp r9, r10\n"
          "bne 1b\n" ITG_LEAVE_DSP
          "10:\n"
          "lsrs r0, r0, #1\n"
          "bcc 11f\n"
          "ldrd r11, r12, [sp, #64]\n"
          "12:\n" ITG_CLAMP_DSP("r3") ITG_CLAMP_DSP("r4") ITG_CLAMP_DSP("r5") ITG_CLAMP_DSP("r6")
          "cmp r0, #0\n"
          "beq 9b\n"
          "11:\n" ITG_ADD_DSP ITG_ADD_EACH_DSP("r4", "[r0, r2]") ITG_ADD_EACH_DSP("r5", "[r0, r2, lsl #1]")
          "add r2, r2, r2, lsl #1\n" ITG_ADD_EACH_DSP("r6", "[r0, r2]") ITG_ADD_EACH_DSP("r3", "[r0], #1")
          "str r0, [sp, #76]\n"
          "ldmia r12, {r0, r11, r12}\n" ITG_ADD_ZERO_POINT_DSP("r3") ITG_ADD_ZERO_POINT_DSP("r4")
              ITG_ADD_ZERO_POINT_DSP("r5") ITG_ADD_ZERO_POINT_DSP("r6") ITG_ADD_END_DSP "beq 9b\n"
          "mov r0, #0\n"
          "b 12b\n"
"21:\n"
          "ldr lr, [sp, #72]\n"
          "ldrd r9, r10, [sp, #16]\n"
          "sub r10, r9\n"
          "cmp r10, #1\n"
          "it eq\n"
          "moveq lr, #0\n"
          "add r2, r1, lr\n"
          "ldrd r6, r7, [sp, #24]\n"
          "ldr r4, [r6], #4\n"
          "vldmia r7!, {s2}\n"
          "mov r5, r4\n"
          "vmov s3, s2\n"
          "itt ne\n"
          "ldrne r5, [r6], #4\n"
          "vldmiane r7!, {s3}\n"
          "strd r6, r7, [sp, #24]\n"
          "ldrd r0, r3, [sp, #32]\n"
          "ldr pc, [sp, #40]\n"
          "22:\n"
          "ldrd r7, r12, [sp, #52]\n"
          "ldr r6, [r1, r7]\n"
          "ldr r7, [r2, r7]\n"
          "lsr r6, r6, r12\n"
          "lsr r7, r7, r12\n"
          "b 24f\n"
          "23:\n"
          "ldr r6, [r1], #4\n"
          "ldr r7, [r2], #4\n"
          "24:\n"
          "ldmia r0!, {r8, r9}\n" ITG_COLUMN_DSP("r6", "r4", "r8", "r9") ITG_COLUMN_DSP("r7", "r5", "r8", "r9")
          "subs r3, #1\n"
          "bne 23b\n"
          "ldr r7, [sp, #60]\n"
          "add r2, r7\n"
          "ldr r3, [sp, #44]\n"
          "ldr pc, [sp, #48]\n"
          "26:\n" ITG_COLUMNS_DSP
          "27:\n" ITG_COLUMNS_DSP ITG_COLUMNS_DSP ITG_COLUMNS_DSP
          "subs r3, #1\n"
          "bne 26b\n"
          "28:\n"
          "mov r1, r2\n"
          "vmov s0, s1, r4, r5\n"
          "vcvt.f32.s32 s0, s0\n"
          "vcvt.f32.s32 s1, s1\n"
          "vmul.f32 s0, s0, s2\n"
          "vmul.f32 s1, s1, s3\n"
          "vcvtr.s32.f32 s0, s0\n"
          "vcvtr.s32.f32 s1, s1\n"
          "vmov r4, r5, s0, s1\n"
          "ldmia sp, {r0, r2, r7, r8, r9, r10}\n"
          "qadd r4, r4, r2\n"
          "qadd r5, r5, r2\n"
          "ssat r4, #8, r4\n"
          "ssat r5, #8, r5\n"
          "cbnz r0, 30f\n"
          "29:\n"
          "strb r4, [r9], #1\n"
          "cmp r9, r10\n"
          "itt ne\n"
          "strbne r5, [r9], #1\n"
          "cmpne r9, r10\n"
          "str r9, [sp, #16]\n"
          "bne 21b\n" ITG_LEAVE_DSP
          "30:\n"
          "lsrs r0, r0, #1\n"
          "bcc 31f\n"
          "ldrd r11, r12, [sp, #64]\n"
          "32:\n" ITG_CLAMP_DSP("r4") ITG_CLAMP_DSP("r5")
          "cmp r0, #0\n"
          "beq 29b\n"
          "31:\n"
          "sub r6, r10, r9\n" ITG_ADD_DSP ITG_ADD_EACH_DSP("r4", "[r0], #1")
          "cmp r6, #1\n"
          "beq 33f\n" ITG_ADD_EACH_DSP("r5", "[r0], #1")
          "33:\n"
          "str r0, [sp, #76]\n"
          "ldmia r12, {r0, r11, r12}\n" ITG_ADD_ZERO_POINT_DSP("r4") ITG_ADD_ZERO_POINT_DSP("r5") ITG_ADD_END_DSP "beq 29b\n"
          "mov r0, #0\n"
          "b 32b\n");
}

#undef ITG_ENTER_DSP
#undef ITG_LEAVE_DSP
#undef ITG_CLAMP_DSP
#undef ITG_ADD_DSP
#undef ITG_ADD_EACH_DSP
#undef ITG_ADD_ZERO_POINT_DSP
#undef ITG_ADD_END_DSP
#undef ITG_BLOCK_DSP
#undef ITG_BLOCKS_DSP
#undef ITG_COLUMN_DSP
#undef ITG_COLUMNS_DSP

}  // namespace intaglio

#endif
