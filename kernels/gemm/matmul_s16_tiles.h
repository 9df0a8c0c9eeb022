// The loops of the kernels for x86 of matmul_s16.h. Lanes is a kernel's own, so that no symbol is weak:
//   Sums, kColumns                  a vector of 32-bit lanes, one a column
//   zeros(), load(panel), spread(pair)
//   products(w, pair)               the sum of two products, less 1
//   add_low(sums, v), add_high(sums, v)   plus the lower half, without a sign; plus the upper half, with its sign
//   store(low, high, steps, args, out)    codes of the columns; a sum is high * 2^16 + low + steps
#pragma once

#include <cstring>

#include "kernels/gemm/matmul_s16.h"

namespace intaglio {

inline constexpr int32_t kMatmulRows = 4;

// Four rows; of fewer the last one is computed again.
template <typename Lanes>
static inline void run_rows_s16(const MatmulS16Args& args, int32_t row) {
  constexpr int32_t kRows = kMatmulRows;
  const int32_t last = args.m - 1 - row;
  using Sums = typename Lanes::Sums;
  Sums low[kRows], high[kRows];
  const int16_t* a[kRows];
  for (int32_t r = 0; r < kRows; ++r) {
    a[r] = args.a + (row + (r < last ? r : last)) * args.a_stride;
    low[r] = high[r] = Lanes::zeros();
  }
  const auto add = [&](const int16_t* panel, auto pair_of) {
    const Sums w = Lanes::load(panel);
#pragma GCC unroll 4
    for (int32_t r = 0; r < kRows; ++r) {
      const Sums v = Lanes::products(w, Lanes::spread(pair_of(a[r])));
      low[r] = Lanes::add_low(low[r], v);
      high[r] = Lanes::add_high(high[r], v);
    }
  };
  const int16_t* panel = args.panel;
  int32_t i = 0;
  for (; i + 2 <= args.k; i += 2, panel += 2 * Lanes::kColumns)
    add(panel, [i](const int16_t* x) {
      int32_t pair;
      memcpy(&pair, x + i, sizeof pair);
      return pair;
    });
  if (i < args.k) add(panel, [i](const int16_t* x) -> int32_t { return static_cast<uint16_t>(x[i]); });
  const int32_t steps = (args.k + 1) / 2;
  for (int32_t r = 0; r < kRows && r <= last; ++r) {
    int16_t codes[Lanes::kColumns];
    Lanes::store(low[r], high[r], steps, args, codes);
    memcpy(args.output + (row + r) * args.output_stride, codes,
           static_cast<size_t>(args.n) * sizeof codes[0]);
  }
}

template <typename Lanes>
static inline void run_matmul_s16(const MatmulS16Args& args) {
  for (int32_t row = 0; row < args.m; row += kMatmulRows) run_rows_s16<Lanes>(args, row);
}

}  // namespace intaglio
