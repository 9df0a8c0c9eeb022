// Cortex-M4, M7 and whatever else has the DSP extension. Two products an instruction (smlad), of int16 pairs:
// four bytes of weights become the pairs (0, 2) and (1, 3), and a tile's rows are widened once, in that
// order.
//
// The depth is one run of taps * k, as the weights stand. Scratch: with four rows [blocks][4 rows][4 depths],
// else [blocks][4 depths], int16; zeros behind the last depth. A last block of weights that is not whole is
// read byte by byte: behind the last column there may be nothing.
#include "kernels/gemm_s8.h"
#include "kernels/requant_dsp.h"
#include "kernels/widen_dsp.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 4, kQuad = 4;

// Four codes as the pairs (0, 2) and (1, 3).
inline void store_pairs(uint32_t codes, int16_t* to) {
  const uint32_t even = even_dsp(codes), odd = odd_dsp(codes);
  memcpy(to, &even, sizeof even);
  memcpy(to + 2, &odd, sizeof odd);
}

// Widens row r of every tap; `step` int16 from block to block.
void widen_row(const GemmS8Args& args, int32_t r, int32_t step, int16_t* to) {
  const int8_t* const* row = args.rows + r;
  const auto k = static_cast<size_t>(args.k);
  if (args.k % kQuad == 0) {
    for (int32_t t = 0; t < args.taps; ++t, row += kMr) {
      const int8_t* x = *row;
      for (const int8_t* const end = x + k; x != end; x += kQuad, to += step)
        store_pairs(load_word_dsp(x), to);
    }
    return;
  }
  // Blocks cross taps: through the four depths that are not stored yet.
  int8_t block[kQuad];
  int32_t filled = 0;
  for (int32_t t = 0; t < args.taps; ++t, row += kMr) {
    const int8_t* x = *row;
    for (const int8_t* const end = x + k; x != end;) {
      block[filled++] = *x++;
      if (filled < kQuad) continue;
      store_pairs(load_word_dsp(block), to);
      to += step;
      filled = 0;
    }
  }
  if (filled == 0) return;
  memset(block + filled, 0, static_cast<size_t>(kQuad - filled));
  store_pairs(load_word_dsp(block), to);
}

// Sums of four rows with one column, or of one row with four: `blocks` whole blocks.
struct Sums {
  int32_t s[4];
};

[[gnu::always_inline]] inline Sums multiply_rows(const int16_t* x, const int8_t* w, int32_t blocks,
                                                 int32_t start) {
  int32_t a0 = start, a1 = start, a2 = start, a3 = start;
  uint32_t v, e;
  if (blocks > 0)
    __asm__ volatile(
        "1:\n"
        "ldr %[v], [%[w]], #4\n"
        "ldmia %[x]!, {r8, r9, r10, r11}\n"
        "sxtb16 %[e], %[v]\n"
        "sxtb16 %[v], %[v], ror #8\n"
        "smlad %[a0], %[e], r8, %[a0]\n"
        "smlad %[a1], %[e], r10, %[a1]\n"
        "smlad %[a0], %[v], r9, %[a0]\n"
        "smlad %[a1], %[v], r11, %[a1]\n"
        "ldmia %[x]!, {r8, r9, r10, r11}\n"
        "subs %[n], #1\n"
        "smlad %[a2], %[e], r8, %[a2]\n"
        "smlad %[a3], %[e], r10, %[a3]\n"
        "smlad %[a2], %[v], r9, %[a2]\n"
        "smlad %[a3], %[v], r11, %[a3]\n"
        "bne 1b\n"
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [x] "+r"(x), [w] "+r"(w),
          [n] "+r"(blocks), [v] "=&r"(v), [e] "=&r"(e)
        :
        : "r8", "r9", "r10", "r11", "cc", "memory");
  return {{a0, a1, a2, a3}};
}

// A block of one row and four columns; a loop's pass has two of them, and an odd number starts at the second.
#define ITG_COLUMN_DSP(address, acc)   \
  "ldr %[v], " address                 \
  "\n"                                 \
  "sxtb16 %[e], %[v]\n"                \
  "sxtb16 %[v], %[v], ror #8\n"        \
  "smlad %[" acc "], %[e], r8, %[" acc \
  "]\n"                                \
  "smlad %[" acc "], %[v], r9, %[" acc "]\n"
#define ITG_COLUMNS_DSP                                                          \
  "ldmia %[x]!, {r8, r9}\n" ITG_COLUMN_DSP("[%[w], %[s]]", "a1") ITG_COLUMN_DSP( \
      "[%[w], %[s], lsl #1]", "a2") ITG_COLUMN_DSP("[%[w], %[s3]]", "a3") ITG_COLUMN_DSP("[%[w]], #4", "a0")

// The columns start `stride` apart.
[[gnu::noinline]] Sums multiply_columns(const int16_t* x, const int8_t* w, int32_t stride, int32_t blocks) {
  int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0;
  uint32_t v, e;
  if (blocks > 0)
    __asm__ volatile(
        "lsrs %[n], %[n], #1\n"
        "it cs\n"
        "addcs %[n], %[n], #1\n"
        "bcs 2f\n"
        "1:\n" ITG_COLUMNS_DSP "2:\n" ITG_COLUMNS_DSP
        "subs %[n], #1\n"
        "bne 1b\n"
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [x] "+r"(x), [w] "+r"(w),
          [n] "+r"(blocks), [v] "=&r"(v), [e] "=&r"(e)
        : [s] "r"(stride), [s3] "r"(3 * stride)
        : "r8", "r9", "cc", "memory");
  return {{a0, a1, a2, a3}};
}

#undef ITG_COLUMNS_DSP
#undef ITG_COLUMN_DSP

// The last block, `rest` depths of it.
inline int32_t add_rest(const int16_t* x, const int8_t* w, int32_t rest, int32_t acc) {
  uint32_t codes = 0;
  for (int32_t i = 0; i < rest; ++i) codes |= static_cast<uint32_t>(static_cast<uint8_t>(w[i])) << (8 * i);
  acc = __smlad(even_dsp(codes), load_word_dsp(x), acc);
  return __smlad(odd_dsp(codes), load_word_dsp(x + 2), acc);
}

// Codes of `count` outputs whose residuals stand `stride` apart.
[[gnu::noinline]] void add_residual(const int8_t* residual, size_t stride, const AddS8& add, int32_t* codes,
                                    int32_t count) {
  for (int32_t i = 0; i < count; ++i, residual += stride) codes[i] = add_s8(codes[i], *residual, add);
}

// What a call's loops read: copies, since a compiler takes a stored code for a change of anything else.
struct Work {
  const float* multiplier;
  const int32_t* bias;
  const int8_t* w;
  const int8_t* residual;
  int8_t* y;
  size_t stride, residual_stride;
  int32_t depth, blocks, rest;
  OutputDsp output;
};

Work start(const GemmS8Args& args, int32_t r) {
  const int32_t depth = args.taps * args.k;
  const auto row = static_cast<size_t>(r);
  return {args.multiplier,
          args.folded_bias,
          static_cast<const int8_t*>(args.weights),
          args.residual != nullptr ? args.residual + row * args.residual_stride : nullptr,
          args.output + row * args.output_stride,
          args.output_stride,
          args.residual_stride,
          depth,
          depth / kQuad,
          depth % kQuad,
          make_output_dsp(args.requant)};
}

void four_rows(const GemmS8Args& args, int16_t* x) {
  for (int32_t r = 0; r < kMr; ++r) widen_row(args, r, kMr * kQuad, x + r * kQuad);
  Work work = start(args, 0);
  const int16_t* const last = x + static_cast<ptrdiff_t>(work.blocks) * kMr * kQuad;
  for (const int8_t* const end = work.y + args.n; work.y != end; work.w += work.depth) {
    Sums sums = multiply_rows(x, work.w, work.blocks, *work.bias++);
    if (work.rest != 0)
      for (int32_t r = 0; r < kMr; ++r)
        sums.s[r] = add_rest(last + r * kQuad, work.w + work.depth - work.rest, work.rest, sums.s[r]);
    const float multiplier = *work.multiplier++;
#pragma GCC unroll 4
    for (int32_t r = 0; r < kMr; ++r) sums.s[r] = requantize_dsp(sums.s[r], multiplier, work.output);
    if (work.residual != nullptr) add_residual(work.residual++, work.residual_stride, *args.add, sums.s, kMr);
    int8_t* y = work.y++;
#pragma GCC unroll 4
    for (int32_t r = 0; r < kMr; ++r, y += work.stride) *y = static_cast<int8_t>(sums.s[r]);
  }
}

// A last group of fewer than four columns is computed as the first of them four times over.
void one_row(const GemmS8Args& args, int32_t r, int16_t* x) {
  widen_row(args, r, kQuad, x);
  Work work = start(args, r);
  const int16_t* const last = x + static_cast<ptrdiff_t>(work.blocks) * kQuad;
  for (int32_t left = args.n, columns; left > 0; left -= columns) {
    columns = left < kQuad ? 1 : kQuad;
    Sums sums = multiply_columns(x, work.w, columns == 1 ? 0 : work.depth, work.blocks);
#pragma GCC unroll 1
    for (int32_t j = 0; j < columns; ++j) {
      auto acc = static_cast<int32_t>(static_cast<uint32_t>(sums.s[j]) + static_cast<uint32_t>(*work.bias++));
      work.w += work.depth;
      if (work.rest != 0) acc = add_rest(last, work.w - work.rest, work.rest, acc);
      sums.s[j] = requantize_dsp(acc, *work.multiplier++, work.output);
    }
    if (work.residual != nullptr) {
      add_residual(work.residual, 1, *args.add, sums.s, columns);
      work.residual += columns;
    }
    for (int32_t j = 0; j < columns; ++j) *work.y++ = static_cast<int8_t>(sums.s[j]);
  }
}

}  // namespace

void gemm_s8_dsp(const GemmS8Args& args);

void gemm_s8_dsp(const GemmS8Args& args) {
  auto* const x = static_cast<int16_t*>(args.scratch);
  if (args.m == kMr) return four_rows(args, x);
  for (int32_t r = 0; r < args.m; ++r) one_row(args, r, x);
}

}  // namespace intaglio
