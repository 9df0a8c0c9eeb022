// Row tiles of an int8 matrix product with indirection: convolutions and fully connected layers.
//
//   acc[r][c] = folded_bias[c] + sum over t < taps, i < k of rows[t * mr + r][i] * w[c][t][i]
//   q[r][c]   = requantize_s8(acc[r][c], multiplier[c], requant)                                   (requant.h)
//   output[r * output_stride + c] = q[r][c], or add_s8(q[r][c], residual[r * residual_stride + c], *add)
//
// for r < m <= mr and c < n; wrapping int32. The bias has the input zero point folded in, folded[c] = bias[c] - z_in * sum
// w[c], so a padded tap points at a row that holds the input zero point. The true sum fits int32 (the loader
// proves it); sums in between may wrap. Weights of -128 are exact in every kernel.
//
// Layouts: rows [taps][mr] pointers, those past m up to a multiple of row_step too, each to k bytes. Plain
// weights [n][taps][k], used in place. Packed weights: a panel for each nr columns, [taps][ceil(k /
// kr)][nr][kr], padding zero. Where a kernel narrows, the columns left stand in panels of nr / 2 and nr / 4.
// Where a kernel reads its rows as x + lhs_offset, a panel starts with int32[nr], folded_bias - lhs_offset *
// sum w, and float[nr], multiplier; the kernel takes them from there. Where vectors of `lanes` sums are
// packed two by two, 128 bits at a time, a full panel's columns stand so that they leave in order. Where a
// kernel sums the products of depths i and (i + pair_gap) in int16, a panel starts with int32[nr], 1 for a column where no such pair of weights is -128
// twice: 2 * 128 * 128 is the one sum that does not fit. Kernels that multiply unsigned by signed bytes in a
// saturating int16 have panels of their own: gemm_s8_pairs.h. output may be residual itself (same stride);
// else it overlaps nothing.
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant.h"

namespace intaglio {

struct GemmS8Args {
  const int8_t* const* rows;
  // nullptr, or, for a kernel that takes them: every row of tap t stands tap_steps[t] bytes behind that of
  // tap 0, and rows are [mr], of tap 0.
  const ptrdiff_t* tap_steps = nullptr;
  const void* weights;  // packed where the kernel packs
  const int32_t* folded_bias;
  const float* multiplier;
  int8_t* output;
  size_t output_stride;
  const int8_t* residual;  // nullptr: none
  size_t residual_stride;
  const AddS8* add;
  void* scratch;  // gemm_s8_scratch_bytes(), 32-aligned
  OutputS8 requant;
  int32_t m, n, taps, k;
  // Each row of k bytes is followed by what completes sixteen, readable and of any value.
  bool rows_padded = false;
  // A row whose codes are all -lhs_offset, nullptr: none. What it adds is nothing: a tap where a tile's rows
  // all point at it, outside the picture, may be left out.
  const int8_t* silent = nullptr;
};

struct GemmS8Kernel {
  const char* name;
  IsaMask isa;
  int32_t mr, nr, kr;
  int32_t lhs_offset;
  bool packs;
  int32_t lhs_bytes;  // of each element in the kernel's own copy of a tile's rows; 0: it makes none
  void (*function)(const GemmS8Args& args);  // nullptr where this build has not compiled it
  bool narrows = false;                      // last panels of nr / 2 and nr / 4 columns
  int32_t pair_gap = 0;                      // 0: no sums in int16
  int32_t lanes = 0;           // of the vectors that order a full panel's columns; 0: natural order
  bool matches_pairs = false;  // panels of gemm_s8_pairs.h
  int32_t row_step = 1;        // rows are read so many at once
  int32_t step_columns = 0;    // takes tap_steps where n is at most this
};

// Best first. The scalar kernel is the last one and fits always.
int32_t gemm_s8_count();
const GemmS8Kernel& gemm_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not: on this machine pass cpu_isa() & kCompiledIsa.
int32_t gemm_s8_select(IsaMask isa);

// Of calls with at most `rows` rows; a multiple of 64.
int64_t gemm_s8_scratch_bytes(const GemmS8Kernel& kernel, int32_t rows, int32_t taps, int32_t k);
int64_t gemm_s8_packed_bytes(const GemmS8Kernel& kernel, int32_t n, int32_t taps, int32_t k);
// weights: plain. packed: gemm_s8_packed_bytes(), 4-aligned.
void gemm_s8_pack(const GemmS8Kernel& kernel, const int8_t* weights, const int32_t* folded_bias,
                  const float* multiplier, int32_t n, int32_t taps, int32_t k, void* packed);

}  // namespace intaglio
