// The scalar gemm kernels with four columns side by side and requantizing in integers, for cores without DSP extension
// (Cortex-M0+, M3, M23): there it takes a third of the cycles. gemm_s8_scalar.cc is the plain form of it, which defines the
// answer.
#pragma once

#include "kernels/arithmetic/requant_soft.h"
#include "kernels/gemm/gemm_s8_windows.h"

namespace intaglio {
namespace {

inline constexpr int32_t kSideBySide = 4, kMostSums = 16;

// Columns side by side, so that a code of a row is read once for all: their weights, and how many of these have been multiplied.
// The assembly below knows how it lies.
struct ColumnTile {
  const int8_t* w[kSideBySide];
  int32_t done;
};

// Codes of a row: `lines` times `bytes` of them, `gap` between two lines. At least one.
struct CodeLines {
  int32_t bytes, gap, lines;
};

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH_ISA_THUMB == 1

// A code times the next weight of each column. r0 and r1 are free, r2 the codes, r3 how many are done, r4 to r7 the weights, r8
// to r11 the sums. 19 cycles of a Cortex-M0+.
#define ITG_NEXT_CODE      \
  "ldrsb r0, [r2, r3]\n"   \
  "ldrsb r1, [r4, r3]\n"   \
  "muls r1, r0\n"          \
  "add r8, r1\n"           \
  "ldrsb r1, [r5, r3]\n"   \
  "muls r1, r0\n"          \
  "add r9, r1\n"           \
  "ldrsb r1, [r6, r3]\n"   \
  "muls r1, r0\n"          \
  "add r10, r1\n"          \
  "ldrsb r1, [r7, r3]\n"   \
  "muls r1, r0\n"          \
  "add r11, r1\n"          \
  "adds r3, #1\n"

// Adds the products of these codes with each column's next weights. r12: where the quads of a line end; lr: where it ends.
__attribute__((naked, noinline)) void add_to_columns(const int8_t* /*x*/, const CodeLines*, ColumnTile*,
                                                      uint32_t* /*sums*/) {
  __asm__(
      ".syntax unified\n"
      "push {r4, r5, r6, r7, lr}\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "push {r4, r5, r6, r7}\n"
      "ldr r4, [r1, #8]\n"
      "push {r1, r2, r3, r4}\n"  // the last: lines left
      "ldmia r3!, {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "ldmia r2!, {r4, r5, r6, r7}\n"
      "ldr r3, [r2]\n"
      "subs r2, r0, r3\n"
      "1:\n"  // a line
      "ldr r0, [r1]\n"
      "adds r1, r0, r3\n"
      "mov lr, r1\n"
      "lsrs r0, #2\n"
      "lsls r0, #2\n"
      "adds r0, r3\n"
      "mov r12, r0\n"
      "cmp r3, r12\n"
      "beq 3f\n"
      "2:\n" ITG_NEXT_CODE ITG_NEXT_CODE ITG_NEXT_CODE ITG_NEXT_CODE
      "cmp r3, r12\n"
      "bne 2b\n"
      "3:\n"
      "cmp r3, lr\n"
      "beq 5f\n"
      "4:\n" ITG_NEXT_CODE
      "cmp r3, lr\n"
      "bne 4b\n"
      "5:\n"
      "ldr r1, [sp]\n"
      "ldr r0, [r1, #4]\n"
      "adds r2, r0\n"
      "ldr r0, [sp, #12]\n"
      "subs r0, #1\n"
      "str r0, [sp, #12]\n"
      "bne 1b\n"
      "pop {r0, r1, r2, r4}\n"
      "str r3, [r1, #16]\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "stmia r2!, {r4, r5, r6, r7}\n"
      "pop {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "pop {r4, r5, r6, r7, pc}\n");
}

#undef ITG_NEXT_CODE

#else

// Adds the products of these codes with each column's next weights.
[[gnu::noinline]] inline void add_to_columns(const int8_t* x, const CodeLines* lines, ColumnTile* tile,
                                             uint32_t* sums) {
  const int8_t *const w0 = tile->w[0], *const w1 = tile->w[1], *const w2 = tile->w[2], *const w3 = tile->w[3];
  uint32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  int32_t i = tile->done;
  for (int32_t line = lines->lines; line > 0; --line, x += lines->gap)
    for (const int32_t end = i + lines->bytes; i < end; ++i) {
      const int32_t v = *x++;
      s0 += static_cast<uint32_t>(v * w0[i]);
      s1 += static_cast<uint32_t>(v * w1[i]);
      s2 += static_cast<uint32_t>(v * w2[i]);
      s3 += static_cast<uint32_t>(v * w3[i]);
    }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
  tile->done = i;
}

#endif

// The codes of one row's columns from number c on.
[[gnu::noinline]] inline void store_codes(const GemmS8Args& args, const OutputSoft& output, ptrdiff_t row, int32_t c,
                                          int32_t count, const uint32_t* sums) {
  int8_t* const y = args.output + row * static_cast<ptrdiff_t>(args.output_stride) + c;
  const int8_t* residual = args.residual;
  if (residual == nullptr) return requantize_run(sums, args.multiplier + c, count, args.requant, output, y);
  int8_t codes[kMostSums];
  requantize_run(sums, args.multiplier + c, count, args.requant, output, codes);
  residual += row * static_cast<ptrdiff_t>(args.residual_stride) + c;
  for (int32_t i = 0; i < count; ++i) y[i] = add_s8(codes[i], residual[i], *args.add);
}

// All columns of row r; add(tile, sums) adds the products of a tile. Behind the last column it stands once more.
template <typename Add>
inline void columns_of_row(const GemmS8Args& args, const OutputSoft& output, int32_t r, Add add) {
  const ptrdiff_t depth = static_cast<ptrdiff_t>(args.taps) * args.k;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; c += kMostSums) {
    const int32_t count = args.n - c < kMostSums ? args.n - c : kMostSums;
    const int32_t* bias = args.folded_bias + c;
    uint32_t sums[kMostSums];
    for (int32_t i = 0; i < count; i += kSideBySide) {
      ColumnTile tile;
      tile.done = 0;
      for (int32_t j = 0; j < kSideBySide; ++j) {
        tile.w[j] = w;
        sums[i + j] = static_cast<uint32_t>(*bias);
        if (i + j + 1 >= count) continue;
        w += depth;
        ++bias;
      }
      add(&tile, sums + i);
    }
    w += depth;
    store_codes(args, output, r, c, count, sums);
  }
}

inline void gemm_s8_by_columns(const GemmS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  const CodeLines whole = {args.taps * args.k, 0, 1};
  const int8_t* x = args.first_row;
  for (int32_t r = 0; r < args.m; ++r, x += args.row_distance)
    columns_of_row(args, output, r, [&](ColumnTile* tile, uint32_t* sums) {
      add_to_columns(x, &whole, tile, sums);
    });
}

inline void gemm_s8_windows_by_columns(GemmS8Args& args) {
  constexpr int32_t kPadding = 32;
  const GemmS8Windows& of = *args.windows;
  const OutputSoft output = make_output_soft(args.requant);
  const WindowRuns runs(of, args.k);
  const CodeLines inside = {runs.bytes, of.dilation_h * of.w * of.channels - runs.bytes, of.kernel_h};
  int8_t padding[kPadding];
  memset(padding, of.zero_point, sizeof padding);
  WindowWalk walk(of, args.first_window);
  for (int32_t r = 0; r < args.m; ++r) {
    const WindowAt at = walk.next();
    columns_of_row(args, output, r, [&](ColumnTile* tile, uint32_t* sums) {
      if (at.inside && runs.runs == 1) return add_to_columns(args.first_row + at.from, &inside, tile, sums);
      for_window(
          of, args.first_row, runs, args.k, at,
          [&](const int8_t* from, int32_t bytes) {
            const CodeLines one = {bytes, 0, 1};
            add_to_columns(from, &one, tile, sums);
          },
          [&](int32_t bytes) {
            for (; bytes > 0; bytes -= kPadding) {
              const CodeLines some = {bytes < kPadding ? bytes : kPadding, 0, 1};
              add_to_columns(padding, &some, tile, sums);
            }
          });
    });
  }
}

}  // namespace
}  // namespace intaglio
