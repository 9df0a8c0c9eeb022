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

// A row's two sums.
template <typename Lanes>
struct RowSums {
  typename Lanes::Sums low = Lanes::zeros(), high = Lanes::zeros();

  inline __attribute__((always_inline)) void add(typename Lanes::Sums w, int32_t pair) {
    const auto v = Lanes::products(w, Lanes::spread(pair));
    low = Lanes::add_low(low, v);
    high = Lanes::add_high(high, v);
  }
  inline __attribute__((always_inline)) void store(const MatmulS16Args& args, int32_t row) const {
    int16_t codes[Lanes::kColumns];
    Lanes::store(low, high, (args.k + 1) / 2, args, codes);
    memcpy(args.output + row * args.output_stride, codes, static_cast<size_t>(args.n) * sizeof codes[0]);
  }
};

static inline int32_t pair_s16(const int16_t* x) {
  int32_t pair;
  memcpy(&pair, x, sizeof pair);
  return pair;
}

// Four rows; of fewer the last one is computed again. The sums are plain variables: in a loop gcc keeps an array of them on the
// stack.
template <typename Lanes>
static inline void run_rows_s16(const MatmulS16Args& args, int32_t row) {
  const int32_t last = args.m - 1 - row;
  const int16_t* const a0 = args.a + row * args.a_stride;
  const int16_t* const a1 = last < 1 ? a0 : a0 + args.a_stride;
  const int16_t* const a2 = last < 2 ? a1 : a1 + args.a_stride;
  const int16_t* const a3 = last < 3 ? a2 : a2 + args.a_stride;
  RowSums<Lanes> r0, r1, r2, r3;
  const int16_t* panel = args.panel;
  int32_t i = 0;
  for (; i + 2 <= args.k; i += 2, panel += 2 * Lanes::kColumns) {
    const auto w = Lanes::load(panel);
    r0.add(w, pair_s16(a0 + i));
    r1.add(w, pair_s16(a1 + i));
    r2.add(w, pair_s16(a2 + i));
    r3.add(w, pair_s16(a3 + i));
  }
  if (i < args.k) {
    const auto w = Lanes::load(panel);
    r0.add(w, static_cast<uint16_t>(a0[i]));
    r1.add(w, static_cast<uint16_t>(a1[i]));
    r2.add(w, static_cast<uint16_t>(a2[i]));
    r3.add(w, static_cast<uint16_t>(a3[i]));
  }
  const RowSums<Lanes> sums[] = {r0, r1, r2, r3};
  for (int32_t r = 0; r < 4 && r <= last; ++r) sums[r].store(args, row + r);
}

template <typename Lanes>
static inline void run_matmul_s16(const MatmulS16Args& args) {
  for (int32_t row = 0; row < args.m; row += 4) run_rows_s16<Lanes>(args, row);
}

}  // namespace intaglio
