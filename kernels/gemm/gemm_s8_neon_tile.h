// What the NEON gemm kernels share: reading ragged ends, and the way from sums to stored codes.
#pragma once

#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

// The first `count` < 16 of sixteen codes, then zeros; nothing past them is read.
static inline int8x16_t load_some_neon(const int8_t* from, int32_t count) {
  int8_t some[16] = {};
  int8_t* to = some;
  if ((count & 8) != 0) {
    memcpy(to, from, 8);
    to += 8;
    from += 8;
  }
  if ((count & 4) != 0) {
    memcpy(to, from, 4);
    to += 4;
    from += 4;
  }
  if ((count & 2) != 0) {
    memcpy(to, from, 2);
    to += 2;
    from += 2;
  }
  if ((count & 1) != 0) *to = *from;
  return vld1q_s8(some);
}

// A call's work, in locals: stored codes may alias the arguments as far as the compiler knows.
struct WorkNeon {
  const int32_t* bias;
  const float* multiplier;
  int8_t* output;
  size_t output_stride;
  int32_t columns;  // that are left
  bool plain;       // whole panels are stored as they are
};

static inline WorkNeon start_neon(const GemmS8Args& args, int32_t rows) {
  return {args.folded_bias,   args.multiplier, args.output,
          args.output_stride, args.n,          args.m == rows && args.residual == nullptr};
}

// Biases and multipliers of a last panel that is not full, zeros behind them.
template <int32_t Nr>
struct LastPanelNeon {
  int32_t bias[Nr];
  float multiplier[Nr];
};

template <int32_t Nr>
static inline void use_copies_neon(WorkNeon* work, LastPanelNeon<Nr>* last) {
  for (int32_t c = 0; c < Nr; ++c) {
    last->bias[c] = c < work->columns ? work->bias[c] : 0;
    last->multiplier[c] = c < work->columns ? work->multiplier[c] : 0.0f;
  }
  work->bias = last->bias;
  work->multiplier = last->multiplier;
}

template <int32_t Nr>
static inline void next_panel_neon(WorkNeon* work) {
  work->bias += Nr;
  work->multiplier += Nr;
  work->output += Nr;
  work->columns -= Nr;
}

// 16 / Nr rows of Nr codes, of which `rows` and `columns` are moved.
template <int32_t Nr>
static inline void move_rows_neon(int8_t* to, size_t to_stride, const int8_t* from, size_t from_stride,
                                  int32_t rows, size_t columns) {
  constexpr int32_t kRows = 16 / Nr;
  if (rows == kRows && columns == Nr) {
#pragma GCC unroll 4
    for (int32_t r = 0; r < kRows; ++r, to += to_stride, from += from_stride) memcpy(to, from, Nr);
    return;
  }
  for (int32_t r = 0; r < rows; ++r, to += to_stride, from += from_stride) memcpy(to, from, columns);
}

// Codes of 16 / Nr rows from `row` on, Nr columns from `first` on: adds the residual and stores what lies
// inside the tile. Not inlined: the ends and residuals are no part of the products' loops.
template <int32_t Nr>
__attribute__((noinline)) static void store_neon(const GemmS8Args& args, int32_t row, int32_t first,
                                                 int8x16_t codes) {
  const int32_t rows = args.m - row < 16 / Nr ? args.m - row : 16 / Nr;
  const auto columns = static_cast<size_t>(args.n - first < Nr ? args.n - first : Nr);
  const auto at = static_cast<size_t>(row);
  alignas(16) int8_t some[16] = {};
  if (args.residual != nullptr) {
    move_rows_neon<Nr>(some, Nr, args.residual + at * args.residual_stride + first, args.residual_stride,
                       rows, columns);
    codes = AddNeon<false>(*args.add)(codes, vld1q_s8(some));
  }
  vst1q_s8(some, codes);
  move_rows_neon<Nr>(args.output + at * args.output_stride + first, args.output_stride, some, Nr, rows,
                     columns);
}

#if defined(__aarch64__)

// What a tile's eight columns of 2 * Vectors rows are, in registers also where it is passed on: v[i] holds
// rows 2 * i and 2 * i + 1.
template <int32_t Vectors>
struct TileCodes {
  int8x16_t v[Vectors];
};

// Stores the columns from `first` on that lie inside the tile, with the residual. Not inlined, as store_neon.
template <int32_t Vectors>
__attribute__((noinline)) static void store_rows_but_plain_neon(const GemmS8Args& args, int32_t first,
                                                                TileCodes<Vectors> codes) {
  if (args.m < 2 * Vectors || args.n - first < 8 || args.residual == nullptr) {
    for (int32_t i = 0; i < Vectors && 2 * i < args.m; ++i) store_neon<8>(args, 2 * i, first, codes.v[i]);
    return;
  }
  const AddNeon<false> add(*args.add);
  const size_t from_stride = args.residual_stride, to_stride = args.output_stride;
  const int8_t* from = args.residual + first;
  int8_t* to = args.output + first;
#pragma GCC unroll 1
  for (int32_t i = 0; i < Vectors; ++i, from += 2 * from_stride, to += 2 * to_stride) {
    const int8x16_t sums = add(codes.v[i], vcombine_s8(vld1_s8(from), vld1_s8(from + from_stride)));
    vst1_s8(to, vget_low_s8(sums));
    vst1_s8(to + to_stride, vget_high_s8(sums));
  }
}

// Stores them where they lie inside the tile, with the residual.
template <int32_t Vectors>
static inline void store_rows_neon(const GemmS8Args& args, const WorkNeon& work,
                                   const TileCodes<Vectors>& codes) {
  if (__builtin_expect(work.plain && work.columns >= 8, 1)) {
    int8_t* to = work.output;
#pragma GCC unroll 6
    for (int32_t i = 0; i < Vectors; ++i) {
      vst1_s8(to, vget_low_s8(codes.v[i]));
      to += work.output_stride;
      vst1_s8(to, vget_high_s8(codes.v[i]));
      to += work.output_stride;
    }
  } else {
    store_rows_but_plain_neon<Vectors>(args, args.n - work.columns, codes);
  }
}

#endif

}  // namespace intaglio
