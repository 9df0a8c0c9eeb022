// columns_dsp() of gemm_s8_dsp_columns.h without floating-point registers, where rounding takes longer than the products.
#pragma once

#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

template <int32_t kRows>
static inline void columns_of_rows_dsp(const GemmS8Args& args, const int16_t* rows, int8_t* y,
                                       const int8_t* residual) {
  const OutputDsp output = make_output_dsp(args.requant);
  const int32_t depth = args.taps * args.k, rest = depth % 4;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t i = 0; i < args.n; ++i) {
    int32_t sums[kRows];
    for (int32_t& sum : sums) sum = args.folded_bias[i];
    const int16_t* x = rows;
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
}

static inline void columns_dsp(GemmS8Args& args, int32_t rows) {
  if (rows == 0) return;
  const auto* const x = static_cast<const int16_t*>(args.scratch);
  if (rows == 4)
    columns_of_rows_dsp<4>(args, x, args.output, args.residual);
  else
    columns_of_rows_dsp<1>(args, x, args.output, args.residual);
  args.output += static_cast<size_t>(rows) * args.output_stride;
  if (args.residual != nullptr) args.residual += static_cast<size_t>(rows) * args.residual_stride;
}

}  // namespace intaglio
