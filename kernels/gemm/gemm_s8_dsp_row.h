// One row by eight columns, for gemm_s8_dsp: a fully connected layer. Weights are read where they stand, four columns at a time, since
// a load that follows another one takes one cycle. What an address may add to a column is one, two or four times a distance. So
// the first four are columns 0, 1, 2 and 4, the others 7, 6, 5 and 3, with the distance negative.
//
// For depths that are a multiple of four, and outputs without a residual. The last eight columns may overlap those before. Scratch: the
// row, in pairs as even_dsp() and odd_dsp() make them.
#pragma once

#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {
namespace {

#if defined(__ARM_FP)

// What multiply_row() reads; from bias on as its assembly has it on the stack.
struct RowDsp {
  const int16_t* x;
  const int8_t* weights;
  int32_t depth;
  const int16_t* x_end;
  int32_t skipped;  // steps that the first pass leaves out, of five
  const int32_t* bias;
  const float* multiplier;
  int8_t* y;
  const int8_t* y_end;
  int32_t zero_point;
};

// Four depths by four columns: 23 cycles for 16 products, 88 bytes of code.
#define ITG_WEIGHTS_DSP(w, sum) \
  "sxtb16 lr, " w               \
  "\n"                          \
  "sxtb16 " w ", " w            \
  ", ror #8\n"                  \
  "smlad " sum ", lr, r7, " sum \
  "\n"                          \
  "smlad " sum ", " w ", r8, " sum "\n"
#define ITG_STEP_DSP                                                              \
  "ldr.w r8, [r0, #4]\n"                                                          \
  "ldr.w r7, [r0], #8\n"                                                          \
  "ldr.w r10, [r1, r2]\n"                                                         \
  "ldr.w r11, [r1, r2, lsl #1]\n"                                                 \
  "ldr.w r12, [r1, r2, lsl #2]\n"                                                 \
  "ldr.w r9, [r1], #4\n" ITG_WEIGHTS_DSP("r9", "r3") ITG_WEIGHTS_DSP("r10", "r4") \
      ITG_WEIGHTS_DSP("r11", "r5") ITG_WEIGHTS_DSP("r12", "r6")
// Four codes of four sums.
#define ITG_CODES_DSP(a, b, c, d)      \
  "vldmia r8!, {s12, s13, s14, s15}\n" \
  "vcvt.f32.s32 " a ", " a             \
  "\n"                                 \
  "vcvt.f32.s32 " b ", " b             \
  "\n"                                 \
  "vcvt.f32.s32 " c ", " c             \
  "\n"                                 \
  "vcvt.f32.s32 " d ", " d             \
  "\n"                                 \
  "vmul.f32 " a ", " a                 \
  ", s12\n"                            \
  "vmul.f32 " b ", " b                 \
  ", s13\n"                            \
  "vmul.f32 " c ", " c                 \
  ", s14\n"                            \
  "vmul.f32 " d ", " d                 \
  ", s15\n"                            \
  "vcvtr.s32.f32 " a ", " a            \
  "\n"                                 \
  "vcvtr.s32.f32 " b ", " b            \
  "\n"                                 \
  "vcvtr.s32.f32 " c ", " c            \
  "\n"                                 \
  "vcvtr.s32.f32 " d ", " d            \
  "\n"                                 \
  "vmov r3, r4, " a ", " b             \
  "\n"                                 \
  "vmov r5, r6, " c ", " d             \
  "\n"                                 \
  "qadd r3, r3, r11\n"                 \
  "qadd r4, r4, r11\n"                 \
  "qadd r5, r5, r11\n"                 \
  "qadd r6, r6, r11\n"                 \
  "ssat r3, #8, r3\n"                  \
  "ssat r4, #8, r4\n"                  \
  "ssat r5, #8, r5\n"                  \
  "ssat r6, #8, r6\n"                  \
  "strb r4, [r9, #1]\n"                \
  "strb r5, [r9, #2]\n"                \
  "strb r6, [r9, #3]\n"                \
  "strb r3, [r9], #4\n"

// All columns. s8 x, s9 its end, s10 where the loop is entered, s11 where it goes on.
__attribute__((naked, noinline, aligned(4))) void multiply_row(const RowDsp*) {
  __asm__(
      "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
      "sub sp, #20\n"
      "ldmia r0!, {r3, r4, r5, r6, r7}\n"
      "ldmia r0, {r8, r9, r10, r11, r12}\n"
      "stmia sp, {r8, r9, r10, r11, r12}\n"
      "mov r1, r4\n"
      "mov r2, r5\n"
      "vmov s8, s9, r3, r6\n"
      "adr.w r3, 2f\n"
      "mov r4, #88\n"
      "mla r3, r7, r4, r3\n"
      "orr r3, #1\n"
      "vmov s10, r3\n"
      "1:\n"
      "ldr r7, [sp]\n"
      "ldr r3, [r7]\n"
      "ldr r4, [r7, #4]\n"
      "ldr r5, [r7, #8]\n"
      "ldr r6, [r7, #16]\n"
      "adr.w lr, 3f\n"
      "b 4f\n"
      ".balign 4\n"
      "3:\n"
      "vmov s0, s1, r3, r4\n"
      "vmov s2, r5\n"
      "vmov s4, r6\n"
      "add r1, r1, r2, lsl #2\n"
      "add r1, r1, r2, lsl #1\n"
      "rsb r2, r2, #0\n"
      "ldr r7, [sp]\n"
      "ldr r3, [r7, #28]\n"
      "ldr r4, [r7, #24]\n"
      "ldr r5, [r7, #20]\n"
      "ldr r6, [r7, #12]\n"
      "add r7, #32\n"
      "str r7, [sp]\n"
      "adr.w lr, 5f\n"
      "4:\n"
      "orr lr, #1\n"
      "vmov s11, lr\n"
      "vmov r0, s8\n"
      "vmov lr, s10\n"
      "bx lr\n"
      ".balign 4\n"
      "2:\n" ITG_STEP_DSP ITG_STEP_DSP ITG_STEP_DSP ITG_STEP_DSP ITG_STEP_DSP
      "vmov lr, s9\n"
      "cmp r0, lr\n"
      "bne.w 2b\n"
      "vmov lr, s11\n"
      "bx lr\n"
      ".balign 4\n"
      "5:\n"
      "vmov s7, r3\n"
      "vmov s6, r4\n"
      "vmov s5, r5\n"
      "vmov s3, r6\n"
      "rsb r2, r2, #0\n"
      "ldmia sp, {r7, r8, r9, r10, r11}\n"
      "mov r12, #1\n"
      "7:\n" ITG_CODES_DSP("s0", "s1", "s2", "s3")
      "vmov.f32 s0, s4\n"
      "vmov.f32 s1, s5\n"
      "vmov.f32 s2, s6\n"
      "vmov.f32 s3, s7\n"
      "subs r12, #1\n"
      "bpl 7b\n"
      "str r8, [sp, #4]\n"
      "str r9, [sp, #8]\n"
      "cmp r9, r10\n"
      "bne.w 1b\n"
      "add sp, #20\n"
      "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#undef ITG_WEIGHTS_DSP
#undef ITG_STEP_DSP
#undef ITG_CODES_DSP

inline bool fits_row_by_columns_dsp(const GemmS8Args& args) {
  return args.n >= 8 && args.residual == nullptr && args.taps * args.k % 4 == 0;
}

// The row may stand in the second half of what it takes when it is widened.
[[gnu::noinline]] inline void row_by_columns_dsp(const GemmS8Args& args, const int8_t* row) {
  const OutputDsp output = make_output_dsp(args.requant);
  const int32_t depth = args.taps * args.k, blocks = depth / 4;
  auto* const x = static_cast<int16_t*>(args.scratch);
  int16_t* to = x;
  const int8_t* from = row;
  int32_t left = blocks;
  __asm__ volatile(
      "1:\n"
      "ldr r4, [%[from]], #4\n"
      "subs %[left], #1\n"
      "sxtb16 r5, r4, ror #8\n"
      "sxtb16 r4, r4\n"
      "strd r4, r5, [%[to]], #8\n"
      "bne 1b\n"
      : [from] "+r"(from), [to] "+r"(to), [left] "+r"(left)
      :
      : "r4", "r5", "cc", "memory");
  RowDsp all = {x,
                static_cast<const int8_t*>(args.weights),
                depth,
                x + 4 * blocks,
                4 - (blocks + 4) % 5,
                args.folded_bias,
                args.multiplier,
                args.output,
                args.output + (args.n & ~7),
                output.zero_point};
  multiply_row(&all);
  if (const int32_t c = args.n - 8; c % 8 != 0) {
    all.weights += static_cast<ptrdiff_t>(c) * depth;
    all.bias += c;
    all.multiplier += c;
    all.y += c;
    all.y_end = args.output + args.n;
    multiply_row(&all);
  }
  clamp_codes(args.output, 1, args.n, output.lo, output.hi);
}

#else

inline bool fits_row_by_columns_dsp(const GemmS8Args&) { return false; }
inline void row_by_columns_dsp(const GemmS8Args&, const int8_t*) {}

#endif

}  // namespace
}  // namespace intaglio
