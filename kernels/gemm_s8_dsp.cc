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

[[gnu::noinline]] Sums multiply_rows(const int16_t* x, const int8_t* w, int32_t blocks, int32_t start) {
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

// The columns start `stride` apart.
[[gnu::noinline]] Sums multiply_columns(const int16_t* x, const int8_t* w, int32_t stride, int32_t blocks,
                                        const int32_t* start) {
  int32_t a0 = start[0], a1 = start[1], a2 = start[2], a3 = start[3];
  uint32_t v, e;
  if (blocks > 0)
    __asm__ volatile(
        "1:\n"
        "ldmia %[x]!, {r8, r9}\n"
        "ldr %[v], [%[w], %[s]]\n"
        "sxtb16 %[e], %[v]\n"
        "sxtb16 %[v], %[v], ror #8\n"
        "smlad %[a1], %[e], r8, %[a1]\n"
        "smlad %[a1], %[v], r9, %[a1]\n"
        "ldr %[v], [%[w], %[s], lsl #1]\n"
        "sxtb16 %[e], %[v]\n"
        "sxtb16 %[v], %[v], ror #8\n"
        "smlad %[a2], %[e], r8, %[a2]\n"
        "smlad %[a2], %[v], r9, %[a2]\n"
        "ldr %[v], [%[w], %[s3]]\n"
        "sxtb16 %[e], %[v]\n"
        "sxtb16 %[v], %[v], ror #8\n"
        "smlad %[a3], %[e], r8, %[a3]\n"
        "smlad %[a3], %[v], r9, %[a3]\n"
        "ldr %[v], [%[w]], #4\n"
        "subs %[n], #1\n"
        "sxtb16 %[e], %[v]\n"
        "sxtb16 %[v], %[v], ror #8\n"
        "smlad %[a0], %[e], r8, %[a0]\n"
        "smlad %[a0], %[v], r9, %[a0]\n"
        "bne 1b\n"
        : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [x] "+r"(x), [w] "+r"(w),
          [n] "+r"(blocks), [v] "=&r"(v), [e] "=&r"(e)
        : [s] "r"(stride), [s3] "r"(3 * stride)
        : "r8", "r9", "cc", "memory");
  return {{a0, a1, a2, a3}};
}

// The last block, `rest` depths of it.
inline int32_t add_rest(const int16_t* x, const int8_t* w, int32_t rest, int32_t acc) {
  uint32_t codes = 0;
  for (int32_t i = 0; i < rest; ++i) codes |= static_cast<uint32_t>(static_cast<uint8_t>(w[i])) << (8 * i);
  acc = __smlad(even_dsp(codes), load_word_dsp(x), acc);
  return __smlad(odd_dsp(codes), load_word_dsp(x + 2), acc);
}

inline void store(const GemmS8Args& args, const OutputDsp& output, int32_t r, int32_t c, int32_t acc) {
  int8_t q = requantize_dsp(acc, args.multiplier[c], output);
  if (args.residual != nullptr)
    q = add_s8(q, args.residual[static_cast<size_t>(r) * args.residual_stride + static_cast<size_t>(c)],
               *args.add);
  args.output[static_cast<size_t>(r) * args.output_stride + static_cast<size_t>(c)] = q;
}

void four_rows(const GemmS8Args& args, const OutputDsp& output, int16_t* x) {
  const int32_t depth = args.taps * args.k, blocks = depth / kQuad, rest = depth % kQuad;
  for (int32_t r = 0; r < kMr; ++r) widen_row(args, r, kMr * kQuad, x + r * kQuad);
  const int16_t* const last = x + static_cast<ptrdiff_t>(blocks) * kMr * kQuad;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; ++c, w += depth) {
    Sums sums = multiply_rows(x, w, blocks, args.folded_bias[c]);
    for (int32_t r = 0; r < kMr; ++r) {
      if (rest != 0) sums.s[r] = add_rest(last + r * kQuad, w + depth - rest, rest, sums.s[r]);
      store(args, output, r, c, sums.s[r]);
    }
  }
}

// A last group of fewer than four columns is computed as the first of them four times over.
void one_row(const GemmS8Args& args, const OutputDsp& output, int32_t r, int16_t* x) {
  const int32_t depth = args.taps * args.k, blocks = depth / kQuad, rest = depth % kQuad;
  widen_row(args, r, kQuad, x);
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n;) {
    const int32_t columns = args.n - c < kQuad ? 1 : kQuad;
    int32_t start[kQuad];
    for (int32_t j = 0; j < kQuad; ++j) start[j] = args.folded_bias[j < columns ? c + j : c];
    const Sums sums = multiply_columns(x, w, columns == 1 ? 0 : depth, blocks, start);
    for (int32_t j = 0; j < columns; ++j, ++c, w += depth) {
      int32_t acc = sums.s[j];
      if (rest != 0) acc = add_rest(x + static_cast<ptrdiff_t>(blocks) * kQuad, w + depth - rest, rest, acc);
      store(args, output, r, c, acc);
    }
  }
}

}  // namespace

void gemm_s8_dsp(const GemmS8Args& args);

void gemm_s8_dsp(const GemmS8Args& args) {
  const OutputDsp output = make_output_dsp(args.requant);
  auto* const x = static_cast<int16_t*>(args.scratch);
  if (args.m == kMr) return four_rows(args, output, x);
  for (int32_t r = 0; r < args.m; ++r) one_row(args, output, r, x);
}

}  // namespace intaglio
