// Cortex-M4, M7 and whatever else has the DSP extension. Two products an instruction (smlad), of int16 pairs:
// four bytes of weights become the pairs (0, 2) and (1, 3), and a tile's rows are widened once, in that
// order (gemm_s8_dsp_columns.h).
//
// The depth is one run of taps * k, in the order of the weights. Scratch: with four rows [blocks][4 rows][4 depths],
// else [blocks][4 depths], int16; a last block that is not whole comes first, zeros behind its last depth.
#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/arithmetic/widen_dsp.h"
#include "kernels/gemm/gemm_s8.h"
#include "kernels/gemm/gemm_s8_dsp_columns.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 4, kQuad = 4;

// Four codes as the pairs (0, 2) and (1, 3).
inline void store_pairs(uint32_t codes, int16_t* to) {
  const uint32_t even = even_dsp(codes), odd = odd_dsp(codes);
  memcpy(to, &even, sizeof even);
  memcpy(to + 2, &odd, sizeof odd);
}

// Widens row r of every tap; `step` int16 from block to block. Blocks may cross taps: through the four depths
// that are not stored yet.
void widen_row(const GemmS8Args& args, int32_t r, int32_t step, int16_t* to) {
  const int8_t* const* row = args.rows + r;
  int16_t* const first = to;
  if (args.taps * args.k % kQuad != 0) to += step;
  int8_t block[kQuad];
  int32_t filled = 0;
  for (int32_t t = 0; t < args.taps; ++t, row += kMr) {
    const int8_t* x = *row;
    for (const int8_t* const end = x + args.k; x != end;) {
      if (filled == 0)
        for (; end - x >= kQuad; x += kQuad, to += step) store_pairs(load_word_dsp(x), to);
      if (x == end) break;
      block[filled++] = *x++;
      if (filled < kQuad) continue;
      store_pairs(load_word_dsp(block), to);
      to += step;
      filled = 0;
    }
  }
  if (filled == 0) return;
  memset(block + filled, 0, static_cast<size_t>(kQuad - filled));
  store_pairs(load_word_dsp(block), first);
}

// The same for four rows whose blocks do not cross taps.
void widen_four(const GemmS8Args& args, int16_t* to) {
  const int8_t* const* row = args.rows;
  const int32_t rest = args.k % kQuad;
  if (rest != 0)  // of the only tap
    for (int32_t r = 0; r < kMr; ++r, to += kQuad)
      store_pairs(load_word_dsp(row[r] + args.k - kQuad) >> 8 * (kQuad - rest), to);
  for (int32_t t = 0; t < args.taps; ++t, row += kMr) {
    const int8_t *x0 = row[0], *x1 = row[1], *x2 = row[2], *x3 = row[3];
    int32_t blocks = args.k / kQuad;
    __asm__ volatile(
        "1:\n"
        "ldr r8, [%[x0]], #4\n"
        "ldr r10, [%[x1]], #4\n"
        "sxtb16 r9, r8, ror #8\n"
        "sxtb16 r8, r8\n"
        "sxtb16 r11, r10, ror #8\n"
        "sxtb16 r10, r10\n"
        "stmia %[to]!, {r8, r9, r10, r11}\n"
        "ldr r8, [%[x2]], #4\n"
        "ldr r10, [%[x3]], #4\n"
        "sxtb16 r9, r8, ror #8\n"
        "sxtb16 r8, r8\n"
        "sxtb16 r11, r10, ror #8\n"
        "sxtb16 r10, r10\n"
        "stmia %[to]!, {r8, r9, r10, r11}\n"
        "subs %[n], #1\n"
        "bne 1b\n"
        : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [to] "+r"(to), [n] "+r"(blocks)
        :
        : "r8", "r9", "r10", "r11", "cc", "memory");
  }
}

}  // namespace

void gemm_s8_dsp(const GemmS8Args& args);
void gemm_s8_scalar(const GemmS8Args& args);

// Where a column has less than a word of weights.
[[gnu::noinline]] static void shallow_row(const GemmS8Args& args, int32_t r, int8_t* y,
                                          const int8_t* residual) {
  const int8_t* rows[kQuad - 1];
  for (int32_t t = 0; t < args.taps; ++t) rows[t] = args.rows[t * kMr + r];
  GemmS8Args row = args;
  row.rows = rows;
  row.m = 1;
  row.output = y;
  row.residual = residual;
  gemm_s8_scalar(row);
}

void gemm_s8_dsp(const GemmS8Args& args) {
  auto* const x = static_cast<int16_t*>(args.scratch);
  const int32_t depth = args.taps * args.k;
  if (args.m == kMr && depth >= kQuad) {
    if (args.k % kQuad == 0 || args.taps == 1)
      widen_four(args, x);
    else
      for (int32_t r = 0; r < kMr; ++r) widen_row(args, r, kMr * kQuad, x + r * kQuad);
    return columns_dsp(args, x, args.output, args.residual);
  }
  int8_t* y = args.output;
  const int8_t* residual = args.residual;
  for (int32_t r = 0; r < args.m; ++r, y += args.output_stride) {
    if (depth >= kQuad) {
      widen_row(args, r, kQuad, x);
      columns_dsp(args, x, y, residual);
    } else {
      shallow_row(args, r, y, residual);
    }
    if (residual != nullptr) residual += args.residual_stride;
  }
}

}  // namespace intaglio
