// Many rows that are read where they stand, for gemm_s8_dsp: two of them by two columns. The columns' weights are widened once for
// all rows, [depth / 4][2 columns][4] int16, in pairs as even_dsp() and odd_dsp() make them.
//
// For an even number of columns and rows, and outputs without a residual.
#pragma once

#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {
namespace {

#if defined(__ARM_FP)

// What multiply_rows() reads; from y on as its assembly has it on the stack.
struct RowsDsp {
  const int8_t* x;
  int32_t x_stride;
  const int16_t* columns;
  const int16_t* columns_end;
  int32_t bias[2];
  float multiplier[2];
  int8_t* y;
  int32_t zero_point;
  size_t y_stride;
  int32_t to_next_rows;  // in x, from the end of a row
  const int8_t* y_end;
  int32_t skipped;  // steps that the first pass leaves out, of eight
};

// The weights of two columns, `depth` from one to the next and at least four; `rest` of them behind whole blocks.
__attribute__((naked, noinline)) void widen_two_columns(const int8_t*, int32_t /*depth*/, int32_t /*rest*/,
                                                        int16_t*) {
  __asm__(
      "push {r4, r5, r6, r7, lr}\n"
      "sub lr, r1, r2\n"
      "add lr, r0\n"
      "1:\n"
      "ldr r6, [r0, r1]\n"
      "ldr r4, [r0], #4\n"
      "2:\n"
      "sxtb16 r5, r4, ror #8\n"
      "sxtb16 r4, r4\n"
      "sxtb16 r7, r6, ror #8\n"
      "sxtb16 r6, r6\n"
      "stmia r3!, {r4, r5, r6, r7}\n"
      "cmp r0, lr\n"
      "bne 1b\n"
      "cbz r2, 3f\n"
      "add r0, r2\n"
      "sub r0, #4\n"  // the word that ends with a column
      "ldr r6, [r0, r1]\n"
      "ldr r4, [r0]\n"
      "rsb r2, r2, #4\n"
      "lsl r2, r2, #3\n"
      "lsr r4, r4, r2\n"
      "lsr r6, r6, r2\n"
      "mov r2, #0\n"
      "mov lr, r0\n"
      "b 2b\n"
      "3:\n"
      "pop {r4, r5, r6, r7, pc}\n");
}

// Four depths of two rows, the second r2 behind the first, and of two columns: 60 bytes of code.
#define ITG_CODES_DSP(codes, sum_0, sum_1) \
  "sxtb16 lr, " codes                      \
  "\n"                                     \
  "sxtb16 " codes ", " codes               \
  ", ror #8\n"                             \
  "smlad " sum_0 ", lr, r7, " sum_0        \
  "\n"                                     \
  "smlad " sum_1 ", lr, r9, " sum_1        \
  "\n"                                     \
  "smlad " sum_0 ", " codes ", r8, " sum_0 \
  "\n"                                     \
  "smlad " sum_1 ", " codes ", r10, " sum_1 "\n"
#define ITG_STEP_DSP      \
  "ldr.w r12, [r0, r2]\n" \
  "ldr.w r11, [r0], #4\n" \
  "ldmia.w r1!, {r7, r8, r9, r10}\n" ITG_CODES_DSP("r11", "r3", "r4") ITG_CODES_DSP("r12", "r5", "r6")
#define ITG_FOUR_STEPS_DSP ITG_STEP_DSP ITG_STEP_DSP ITG_STEP_DSP ITG_STEP_DSP

// Two columns of all rows: 20 cycles for 16 products. s4, s5 multipliers; s6, s7 bias; s8 columns, s9 their end; s10 the distance
// of rows, s11 where the loop is entered.
__attribute__((naked, noinline, aligned(4))) void multiply_rows(const RowsDsp*) {
  __asm__(
      "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "sub sp, #20\n"
      "mov r12, r0\n"
      "ldmia r12!, {r0, r2, r3, r4, r5, r6, r7, r8}\n"
      "vmov s8, s9, r3, r4\n"
      "vmov s6, s7, r5, r6\n"
      "vmov s4, s5, r7, r8\n"
      "vmov s10, r2\n"
      "ldmia r12, {r3, r4, r5, r6, r7, r8}\n"
      "stmia sp, {r3, r4, r5, r6, r7}\n"
      "adr.w r3, 2f\n"
      "mov r4, #60\n"
      "mla r3, r8, r4, r3\n"
      "orr r3, #1\n"
      "vmov s11, r3\n"
      "1:\n"
      "vmov r1, s8\n"
      "vmov r2, s10\n"
      "vmov lr, s11\n"
      "vmov r3, r4, s6, s7\n"
      "mov r5, r3\n"
      "mov r6, r4\n"
      "bx lr\n"
      ".balign 4\n"
      "2:\n" ITG_FOUR_STEPS_DSP ITG_FOUR_STEPS_DSP
      "vmov lr, s9\n"
      "cmp r1, lr\n"
      "bne.w 2b\n"
      "vmov s0, s1, r3, r4\n"
      "vmov s2, s3, r5, r6\n"
      ITG_SCALE_FOUR_DSP("s4", "s5")
      "vmov r3, r4, s0, s1\n"
      "vmov r5, r6, s2, s3\n"
      "ldmia sp, {r7, r8, r9, r10, r11}\n"
      "qadd r3, r3, r8\n"
      "qadd r4, r4, r8\n"
      "qadd r5, r5, r8\n"
      "qadd r6, r6, r8\n"
      "ssat r3, #8, r3\n"
      "ssat r4, #8, r4\n"
      "ssat r5, #8, r5\n"
      "ssat r6, #8, r6\n"
      "strb r3, [r7]\n"
      "strb r4, [r7, #1]\n"
      "strb r5, [r7, r9]\n"
      "add r7, r9\n"
      "strb r6, [r7, #1]\n"
      "add r7, r9\n"
      "str r7, [sp]\n"
      "add r0, r10\n"
      "cmp r7, r11\n"
      "bne.w 1b\n"
      "add sp, #20\n"
      "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#undef ITG_CODES_DSP
#undef ITG_STEP_DSP
#undef ITG_FOUR_STEPS_DSP

inline bool fits_rows_by_columns_dsp(const GemmS8Args& args) {
  return args.n % 2 == 0 && args.residual == nullptr;
}

// All rows but an odd last one. A row has whole blocks, though depths may end before: there weights are zero.
[[gnu::noinline]] inline void rows_by_columns_dsp(const GemmS8Args& args) {
  const int32_t depth = args.taps * args.k, blocks = (depth + 3) / 4, rows = args.m & ~1;
  const OutputDsp output = make_output_dsp(args.requant);
  auto* const columns = static_cast<int16_t*>(args.scratch);
  const auto distance = static_cast<int32_t>(args.row_distance);
  RowsDsp all = {args.first_row,
                 distance,
                 columns,
                 columns + 8 * blocks,
                 {},
                 {},
                 args.output,
                 output.zero_point,
                 args.output_stride,
                 2 * distance - 4 * blocks,
                 args.output + static_cast<size_t>(rows) * args.output_stride,
                 -blocks & 7};
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; c += 2, w += 2 * depth, all.y += 2, all.y_end += 2) {
    widen_two_columns(w, depth, depth % 4, columns);
    memcpy(all.bias, args.folded_bias + c, sizeof all.bias);
    memcpy(all.multiplier, args.multiplier + c, sizeof all.multiplier);
    multiply_rows(&all);
    if (!output.narrow) continue;
    clamp_codes(args.output + c, args.output_stride, rows, output.lo, output.hi);
    clamp_codes(args.output + c + 1, args.output_stride, rows, output.lo, output.hi);
  }
}

#else

inline bool fits_rows_by_columns_dsp(const GemmS8Args&) { return false; }
inline void rows_by_columns_dsp(const GemmS8Args&) {}

#endif

}  // namespace
}  // namespace intaglio
