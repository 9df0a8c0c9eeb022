// What the NEON gemm kernels share: reading ragged ends, and the way from sums to stored codes.
#pragma once

#include "kernels/gemm_s8.h"
#include "kernels/requant_neon.h"

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

// Codes of 16 / Nr rows from `row` on, Nr columns from `first` on: adds the residual and stores what lies
// inside the tile. Not inlined: the ends and residuals need no speed of their own.
template <int32_t Nr>
__attribute__((noinline)) static void store_neon(const GemmS8Args& args, int32_t row, int32_t first,
                                                 int8x16_t codes) {
  const int32_t rows = args.m - row < 16 / Nr ? args.m - row : 16 / Nr;
  const auto columns = static_cast<size_t>(args.n - first < Nr ? args.n - first : Nr);
  int8_t* const to = args.output + static_cast<size_t>(row) * args.output_stride + first;
  alignas(16) int8_t some[16] = {};
  if (args.residual != nullptr) {
    const int8_t* const from = args.residual + static_cast<size_t>(row) * args.residual_stride + first;
    for (int32_t r = 0; r < rows; ++r)
      memcpy(some + r * Nr, from + static_cast<size_t>(r) * args.residual_stride, columns);
    codes = add_neon(codes, vld1q_s8(some), *args.add);
  }
  vst1q_s8(some, codes);
  for (int32_t r = 0; r < rows; ++r)
    memcpy(to + static_cast<size_t>(r) * args.output_stride, some + r * Nr, columns);
}

#if defined(__aarch64__)

// A tile of 2 * Vectors rows and eight columns; codes[i] are those of rows 2 * i and 2 * i + 1.
template <int32_t Vectors>
static inline void store_rows_neon(const GemmS8Args& args, const WorkNeon& work, const int8x16_t* codes) {
  if (work.plain && work.columns >= 8) {
    int8_t* to = work.output;
#pragma GCC unroll 6
    for (int32_t i = 0; i < Vectors; ++i) {
      vst1_s8(to, vget_low_s8(codes[i]));
      to += work.output_stride;
      vst1_s8(to, vget_high_s8(codes[i]));
      to += work.output_stride;
    }
    return;
  }
#pragma GCC unroll 6
  for (int32_t i = 0; i < Vectors; ++i)
    if (2 * i < args.m) store_neon<8>(args, 2 * i, args.n - work.columns, codes[i]);
}

#endif

}  // namespace intaglio
