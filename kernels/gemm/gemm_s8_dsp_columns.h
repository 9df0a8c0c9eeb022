// The loop of gemm_s8_dsp for any rows: all columns of four. It uses every register, so it is a whole function of assembly
// (gemm_s8_dsp_frame.h). A column: the rest, then single blocks, then pairs of blocks, four a pass. Where
// weights are not aligned all blocks are single, since ldm wants aligned words.
#pragma once

#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

// Of codes that stand `stride` apart: what the loops around this one leave to it.
[[gnu::noinline, maybe_unused]] static void clamp_codes(int8_t* codes, size_t stride, int32_t count,
                                                        int32_t lo, int32_t hi) {
  if (lo == -128 && hi == 127) return;
  for (; count > 0; --count, codes += stride)
    *codes = static_cast<int8_t>(*codes < lo ? lo : *codes > hi ? hi : *codes);
}

}  // namespace intaglio

#if !defined(__ARM_FP)

// Without floating-point registers, where rounding takes longer than the products.
namespace intaglio {

static inline void columns_dsp(GemmS8Args& args, int32_t rows) {
  constexpr int32_t kRows = 4;
  if (rows == 0) return;
  const auto* const widened = static_cast<const int16_t*>(args.scratch);
  int8_t* const y = args.output;
  const int8_t* const residual = args.residual;
  const OutputDsp output = make_output_dsp(args.requant);
  const int32_t depth = args.taps * args.k, rest = depth % 4;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t i = 0; i < args.n; ++i) {
    int32_t sums[kRows];
    for (int32_t& sum : sums) sum = args.folded_bias[i];
    const int16_t* x = widened;
    const auto multiply = [&](uint32_t word) {
      const uint32_t even = even_dsp(word), odd = odd_dsp(word);
      for (int32_t r = 0; r < kRows; ++r, x += 4)
        sums[r] = __smlad(odd, load_word_dsp(x + 2), __smlad(even, load_word_dsp(x), sums[r]));
    };
    if (rest != 0) multiply(load_word_dsp(w + depth - 4) >> 8 * (4 - rest));
    for (const int8_t* const end = w + depth - rest; w != end; w += 4) multiply(load_word_dsp(w));
    w += rest;
    for (int32_t r = 0; r < kRows; ++r) {
      int32_t q = requantize_dsp(sums[r], args.multiplier[i], output);
      if (residual != nullptr)
        q = add_s8(q, residual[i + r * static_cast<ptrdiff_t>(args.residual_stride)], *args.add);
      y[i + r * static_cast<ptrdiff_t>(args.output_stride)] = static_cast<int8_t>(q);
    }
  }
  args.output += size_t{kRows} * args.output_stride;
  if (residual != nullptr) args.residual += size_t{kRows} * args.residual_stride;
}

}  // namespace intaglio

#else
#include "kernels/gemm/gemm_s8_dsp_frame.h"

namespace intaglio {

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

// add_s8() of a code with one of the residual.
#define ITG_ADD_DSP(q, from) \
  "ldrsb r12, " from         \
  "\n"                       \
  "mla r12, r12, r7, r8\n"   \
  "mla " q ", " q            \
  ", r9, r12\n"              \
  "asr " q ", " q            \
  ", r10\n"                  \
  "add " q                   \
  ", r11\n"                  \
  "ssat " q ", #8, " q "\n"

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

// All columns of four rows. A call with no rows comes first: it makes of the args what tiles read. Aligned, since adr counts
// from a multiple of 4.
__attribute__((naked, noinline, aligned(4))) static void columns_dsp(GemmS8Args&, int32_t) {
  __asm__(ITG_ENTER_DSP
          "1:\n"
          "ldr r3, [r2], #4\n"
          "vldmia r8!, {s4}\n"
          "stmia sp, {r0, r2, r7, r8}\n"
          "mov r4, r3\n"
          "mov r5, r3\n"
          "mov r6, r3\n"
          "ldmia lr, {r0, r2, pc}\n"
          "2:\n"
          "ldrd r7, r12, [sp, #56]\n"
          "ldr r7, [r1, r7]\n"
          "lsr r7, r7, r12\n"
          "b 4f\n"
          "3:\n"
          "ldr r7, [r1], #4\n"
          "4:\n" ITG_BLOCK_DSP("r7")
          "subs r2, #1\n"
          "bne 3b\n"
          "ldr r7, [sp, #64]\n"
          "add r1, r7\n"
          "ldr r2, [sp, #48]\n"
          "ldr pc, [sp, #52]\n"
          "6:\n" ITG_BLOCKS_DSP
          "7:\n" ITG_BLOCKS_DSP ITG_BLOCKS_DSP ITG_BLOCKS_DSP
          "subs r2, #1\n"
          "bne 6b\n"
          "8:\n"
          "vmov s0, s1, r3, r4\n"
          "vmov s2, s3, r5, r6\n"
          ITG_SCALE_FOUR_DSP("s4", "s4")
          "vmov r3, r4, s0, s1\n"
          "vmov r5, r6, s2, s3\n" ITG_LOAD_DSP
          "qadd r3, r3, r9\n"
          "qadd r4, r4, r9\n"
          "qadd r5, r5, r9\n"
          "qadd r6, r6, r9\n"
          "ssat r3, #8, r3\n"
          "ssat r4, #8, r4\n"
          "ssat r5, #8, r5\n"
          "ssat r6, #8, r6\n"
          "cbnz r7, 10f\n"
          "9:\n"
          "strb r4, [r0, r10]\n"
          "strb r5, [r0, r10, lsl #1]\n"
          "strb r6, [r0, r11]\n"
          "strb r3, [r0], #1\n"
          "cmp r0, r12\n"
          "bne 1b\n" ITG_LEAVE_DSP
          "10:\n"
          "tst r7, #1\n"
          "bne 12f\n"
          "11:\n"
          "add r0, sp, #76\n"
          "ldmia r0, {r0, r2, r7, r8, r9, r10, r11}\n" ITG_ADD_DSP("r4", "[r0, r2]")
              ITG_ADD_DSP("r5", "[r0, r2, lsl #1]")
          "add r2, r2, r2, lsl #1\n" ITG_ADD_DSP("r6", "[r0, r2]") ITG_ADD_DSP("r3", "[r0], #1")
          "str r0, [sp, #76]\n" ITG_LOAD_DSP
          "cmp r7, #3\n"
          "bls 9b\n"
          "ldrd r11, r12, [sp, #104]\n"
          "mov lr, #0\n"
          "b 13f\n"
          "12:\n"
          "ldrd r11, r12, [sp, #68]\n"
          "13:\n" ITG_CLAMP_DSP("r3") ITG_CLAMP_DSP("r4") ITG_CLAMP_DSP("r5") ITG_CLAMP_DSP("r6")
          "cmp lr, #0\n" /* behind a residual */ ITG_LOAD_DSP
          "beq 9b\n"
          "tst r7, #2\n"
          "beq 9b\n"
          "b 11b\n"
          "50:\n" ITG_BEGIN_DSP ITG_STARTS_DSP("2b", "3b", "6b", "7b", "8b")
          "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

#undef ITG_ENTER_DSP
#undef ITG_LEAVE_DSP
#undef ITG_LOAD_DSP
#undef ITG_BEGIN_DSP
#undef ITG_FLAG_DSP
#undef ITG_STARTS_DSP
#undef ITG_CLAMP_DSP
#undef ITG_ADD_DSP
#undef ITG_BLOCK_DSP
#undef ITG_BLOCKS_DSP

}  // namespace intaglio

#endif
