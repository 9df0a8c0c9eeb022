// Cortex-M4, M7 and whatever else has the DSP extension: two rows by two columns, two products an instruction (smlad). Four
// bytes of weights become the pairs (0, 2) and (1, 3), and these the pairs (0, 1) and (2, 3), in which the codes lie.
#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/gemm/gemm_s16.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 2;

struct Pairs {
  uint32_t first, second;
};

inline Pairs load_weights(const int8_t* w) {
  const uint32_t word = load_word_dsp(w), even = even_dsp(word), odd = odd_dsp(word);
  return {(even & 0xffffu) | odd << 16, even >> 16 | (odd & 0xffff0000u)};
}

template <int32_t kRows, int32_t kColumns>
void run_tile(const GemmS16Args& args, int32_t column) {
  int64_t sums[kRows][kColumns];
  const ptrdiff_t column_bytes = static_cast<ptrdiff_t>(args.taps) * args.k;
  const int8_t* w = args.weights + column * column_bytes;
  for (int32_t r = 0; r < kRows; ++r)
    for (int32_t c = 0; c < kColumns; ++c) sums[r][c] = args.bias[column + c];
  for (int32_t t = 0; t < args.taps; ++t) {
    const int16_t* x[kRows];
    for (int32_t r = 0; r < kRows; ++r) x[r] = args.rows[t * kMr + r];
    for (int32_t left = args.k; left > 0;) {
      const int32_t depths = left < kGemmS16Depths ? left : kGemmS16Depths;
      int32_t parts[kRows][kColumns] = {};
      int32_t i = 0;
      for (; i + 4 <= depths; i += 4, w += 4) {
        Pairs weights[kColumns];
        for (int32_t c = 0; c < kColumns; ++c) weights[c] = load_weights(w + c * column_bytes);
        for (int32_t r = 0; r < kRows; ++r) {
          const uint32_t x0 = load_word_dsp(x[r]), x1 = load_word_dsp(x[r] + 2);
          for (int32_t c = 0; c < kColumns; ++c)
            parts[r][c] = __smlad(
                static_cast<int16x2_t>(weights[c].second), static_cast<int16x2_t>(x1),
                __smlad(static_cast<int16x2_t>(weights[c].first), static_cast<int16x2_t>(x0), parts[r][c]));
          x[r] += 4;
        }
      }
      for (; i < depths; ++i, ++w)
        for (int32_t r = 0; r < kRows; ++r) {
          const int32_t code = *x[r]++;
          for (int32_t c = 0; c < kColumns; ++c) parts[r][c] += code * w[c * column_bytes];
        }
      for (int32_t r = 0; r < kRows; ++r)
        for (int32_t c = 0; c < kColumns; ++c) sums[r][c] += parts[r][c];
      left -= depths;
    }
  }
  for (int32_t r = 0; r < kRows; ++r) {
    int16_t* const y = args.output + r * static_cast<ptrdiff_t>(args.output_stride) + column;
    for (int32_t c = 0; c < kColumns; ++c)
      y[c] = requantize_wide_s16(sums[r][c], args.multiplier[column + c], args.requant);
  }
}

}  // namespace

void gemm_s16_dsp(const GemmS16Args& args);

void gemm_s16_dsp(const GemmS16Args& args) {
  int32_t column = 0;
  for (; column + 2 <= args.n; column += 2)
    args.m == kMr ? run_tile<2, 2>(args, column) : run_tile<1, 2>(args, column);
  if (column < args.n) args.m == kMr ? run_tile<2, 1>(args, column) : run_tile<1, 1>(args, column);
}

}  // namespace intaglio
