// The scalar gemm kernels with four columns side by side and requantizing in integers, for cores without DSP extension
// (Cortex-M0+, M3, M23): there it takes a third of the cycles. gemm_s8_scalar.cc is the plain form of it, which defines the
// answer. Instructions are those of ARMv6-M; a plain loop stands for them where the host tests the rest.
#pragma once

#include "kernels/arithmetic/requant_soft.h"
#include "kernels/gemm/gemm_s8_windows.h"

namespace intaglio {
namespace {

inline constexpr int32_t kSideBySide = 4, kMostColumns = 16;

// Some columns: `tiles` times four, side by side, so that a code of a row is read once for four of them. Behind the last column it
// stands once more. Sums are unsigned: in between they may wrap. The assembly below knows how this lies.
struct ColumnTiles {
  const int8_t* w[kMostColumns];
  uint32_t sums[kMostColumns];
  int32_t tiles;
};

// Codes of a row: `lines` times `bytes` of them, at least one, `gap` between two lines. Each column has `done` weights before theirs.
struct CodeLines {
  int32_t bytes, gap, lines, done;
};

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FEATURE_DSP)

// A code times the next weight of each column: 19 cycles of a Cortex-M0+.
#define ITG_NEXT_CODE    \
  "ldrsb r0, [r2, r3]\n" \
  "ldrsb r1, [r4, r3]\n" \
  "muls r1, r0\n"        \
  "add r8, r1\n"         \
  "ldrsb r1, [r5, r3]\n" \
  "muls r1, r0\n"        \
  "add r9, r1\n"         \
  "ldrsb r1, [r6, r3]\n" \
  "muls r1, r0\n"        \
  "add r10, r1\n"        \
  "ldrsb r1, [r7, r3]\n" \
  "muls r1, r0\n"        \
  "add r11, r1\n"        \
  "adds r3, #1\n"

// Adds the products of these codes with each column's weights.
//
// r2 the line's codes, less what was done before them; r3 how many weights are done; r4 to r7 a tile's weights, r8 to r11 its
// sums; r12 where the quads of a line end, lr where it ends. On the stack: x, the CodeLines, the next tile's weights, tiles left,
// lines left.
__attribute__((naked, noinline, unused)) void add_to_columns(const int8_t* /*x*/, const CodeLines*,
                                                             ColumnTiles*) {
  __asm__(
      ".syntax unified\n"
      "push {r4, r5, r6, r7, lr}\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "push {r4, r5, r6, r7}\n"
      "movs r4, r2\n"
      "adds r4, #128\n"  // tiles
      "ldr r3, [r4]\n"
      "sub sp, #4\n"
      "push {r0, r1, r2, r3}\n"
      "1:\n"  // a tile: its sums and weights
      "ldr r2, [sp, #8]\n"
      "movs r3, r2\n"
      "adds r3, #64\n"
      "ldmia r3!, {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "ldmia r2!, {r4, r5, r6, r7}\n"
      "str r2, [sp, #8]\n"
      "ldr r2, [sp]\n"
      "ldr r1, [sp, #4]\n"
      "ldr r0, [r1, #8]\n"  // lines
      "str r0, [sp, #16]\n"
      "ldr r3, [r1, #12]\n"  // done
      "subs r2, r3\n"
      "2:\n"  // a line: its quads, then the rest
      "ldr r0, [r1]\n"
      "adds r1, r0, r3\n"
      "mov lr, r1\n"
      "lsrs r0, #2\n"
      "lsls r0, #2\n"
      "adds r0, r3\n"
      "mov r12, r0\n"
      "cmp r3, r12\n"
      "beq 4f\n"
      "3:\n" ITG_NEXT_CODE ITG_NEXT_CODE ITG_NEXT_CODE ITG_NEXT_CODE
      "cmp r3, r12\n"
      "bne 3b\n"
      "4:\n"
      "cmp r3, lr\n"
      "beq 6f\n"
      "5:\n" ITG_NEXT_CODE
      "cmp r3, lr\n"
      "bne 5b\n"
      "6:\n"  // the next line
      "ldr r1, [sp, #4]\n"
      "ldr r0, [r1, #4]\n"
      "adds r2, r0\n"
      "ldr r0, [sp, #16]\n"
      "subs r0, #1\n"
      "str r0, [sp, #16]\n"
      "bne 2b\n"
      "ldr r3, [sp, #8]\n"  // back to the sums, and the next tile
      "adds r3, #48\n"
      "mov r4, r8\n"
      "mov r5, r9\n"
      "mov r6, r10\n"
      "mov r7, r11\n"
      "stmia r3!, {r4, r5, r6, r7}\n"
      "ldr r0, [sp, #12]\n"
      "subs r0, #1\n"
      "str r0, [sp, #12]\n"
      "bne 1b\n"
      "add sp, #20\n"
      "pop {r4, r5, r6, r7}\n"
      "mov r8, r4\n"
      "mov r9, r5\n"
      "mov r10, r6\n"
      "mov r11, r7\n"
      "pop {r4, r5, r6, r7, pc}\n");
}

#undef ITG_NEXT_CODE

#else

// Adds the products of these codes with each column's weights.
inline void add_to_columns(const int8_t* x, const CodeLines* lines, ColumnTiles* columns) {
  for (int32_t c = 0; c < kSideBySide * columns->tiles; ++c) {
    const int8_t* codes = x;
    const int8_t* w = columns->w[c] + lines->done;
    for (int32_t line = 0; line < lines->lines; ++line, codes += lines->gap)
      for (int32_t i = 0; i < lines->bytes; ++i)
        columns->sums[c] += static_cast<uint32_t>(int32_t{*codes++} * *w++);
  }
}

#endif

// Some columns of all rows.
class ColumnsOfRows {
 public:
  ColumnsOfRows(const GemmS8Args& args, int32_t first)
      : args_(args), first_(first), count_(args.n - first < kMostColumns ? args.n - first : kMostColumns) {
    const ptrdiff_t depth = static_cast<ptrdiff_t>(args.taps) * args.k;
    const int8_t* w = static_cast<const int8_t*>(args.weights) + first * depth;
    columns_.tiles = (count_ + kSideBySide - 1) / kSideBySide;
    for (int32_t i = 0; i < kSideBySide * columns_.tiles; ++i) {
      columns_.w[i] = w;
      columns_.sums[i] = 0;
      if (i < count_ - 1) w += depth;
    }
  }

  ColumnTiles* begin_row() {
    const int32_t* bias = args_.folded_bias + first_;
    for (uint32_t *sum = columns_.sums, *const end = sum + count_; sum != end; ++sum)
      *sum = static_cast<uint32_t>(*bias++);
    return &columns_;
  }

  void end_row(const OutputSoft& output, ptrdiff_t row) {
    int8_t* const y = args_.output + row * static_cast<ptrdiff_t>(args_.output_stride) + first_;
    const float* const multiplier = args_.multiplier + first_;
    if (args_.residual == nullptr)
      return requantize_run(columns_.sums, multiplier, count_, args_.requant, output, y);
    int8_t codes[kMostColumns];
    requantize_run(columns_.sums, multiplier, count_, args_.requant, output, codes);
    const int8_t* const residual =
        args_.residual + row * static_cast<ptrdiff_t>(args_.residual_stride) + first_;
    for (int32_t i = 0; i < count_; ++i) y[i] = add_s8(codes[i], residual[i], *args_.add);
  }

 private:
  const GemmS8Args& args_;
  const int32_t first_, count_;
  ColumnTiles columns_;
};

inline void gemm_s8_by_columns(const GemmS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  const CodeLines whole = {args.taps * args.k, 0, 1, 0};
  for (int32_t c = 0; c < args.n; c += kMostColumns) {
    ColumnsOfRows columns(args, c);
    const int8_t* x = args.first_row;
    for (int32_t r = 0; r < args.m; ++r, x += args.row_distance) {
      add_to_columns(x, &whole, columns.begin_row());
      columns.end_row(output, r);
    }
  }
}

inline void gemm_s8_windows_by_columns(GemmS8Args& args) {
  constexpr int32_t kPadding = 32;
  const GemmS8Windows& of = *args.windows;
  const OutputSoft output = make_output_soft(args.requant);
  const WindowRuns runs(of, args.k);
  const CodeLines inside = {runs.bytes, of.dilation_h * of.w * of.channels - runs.bytes, of.kernel_h, 0};
  int8_t padding[kPadding];
  memset(padding, of.zero_point, sizeof padding);
  for (int32_t c = 0; c < args.n; c += kMostColumns) {
    ColumnsOfRows columns(args, c);
    WindowWalk walk(of, args.first_window);
    for (int32_t r = 0; r < args.m; ++r) {
      const WindowAt at = walk.next();
      ColumnTiles* const sums = columns.begin_row();
      if (at.inside && runs.runs == 1) {
        add_to_columns(args.first_row + at.from, &inside, sums);
      } else {
        CodeLines piece = {0, 0, 1, 0};
        const auto add = [&](const int8_t* from, int32_t bytes) {
          piece.bytes = bytes;
          add_to_columns(from, &piece, sums);
          piece.done += bytes;
        };
        for_window(of, args.first_row, runs, args.k, at, add, [&](int32_t bytes) {
          for (; bytes > 0; bytes -= kPadding) add(padding, bytes < kPadding ? bytes : kPadding);
        });
      }
      columns.end_row(output, r);
    }
  }
}

}  // namespace
}  // namespace intaglio
