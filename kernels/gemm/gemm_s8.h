// Row tiles of an int8 matrix product with indirection: convolutions and fully connected layers.
//
//   acc[r][c] = folded_bias[c] + sum over t < taps, i < k of rows[t * mr + r][i] * w[c][t][i]
//   q[r][c]   = requantize_s8(acc[r][c], multiplier[c], requant)                                   (requant.h)
//   output[r * output_stride + c] = q[r][c], or add_s8(q[r][c], residual[r * residual_stride + c], *add)
//
// for r < m <= mr and c < n; wrapping int32. The bias has the input zero point folded in, folded[c] = bias[c] -
// z_in * sum w[c], so a padded tap points at a row that holds the input zero point. The true sum fits int32 (the
// loader proves it); sums in between may wrap. Weights of -128 are exact in every kernel. output may be residual
// itself (same stride); else it overlaps nothing.
//
// rows: [taps][mr] pointers, each to k bytes; also those past m, up to a multiple of row_multiple, but where m is 1 and
// lhs_offset is 0. Kernels that do not pack take rows of taps * k codes at one distance, or windows of a picture
// (gemm_s8_windows.h), and plain weights, [n][taps][k]. Packed weights: a panel for every nr columns,
// [taps][ceil(k / kr)][nr][kr], padded with zeros. Fields of the descriptor change the panels:
//
//   narrow_panels     the last columns have panels of nr / 2 and nr / 4
//   lhs_offset        the kernel reads its rows as x + lhs_offset. A panel starts with int32[nr], folded_bias -
//                     lhs_offset * sum w, and float[nr], multiplier, which the kernel reads there
//   lanes             a full panel's columns are ordered so that sums are in order again once vectors of `lanes`
//                     of them are packed two by two, 128 bits at a time
//   pair_gap          the products of depths i and i + pair_gap are added in int16. A panel starts with int32[nr],
//                     1 for a column without a pair of weights that are both -128: 2 * 128 * 128 does not fit
//   pair_safe_panels  for instructions that add products of unsigned and signed bytes in a saturating int16:
//                     gemm_s8_pairs.h
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant.h"

namespace intaglio {

struct GemmS8Windows;  // gemm_s8_windows.h

struct GemmS8Args {
  const int8_t* const* rows;  // of a kernel that packs
  // For a kernel that takes them: each row of tap t is at tap_offsets[t] bytes from that of tap 0, and rows are
  // [mr], of tap 0. Else nullptr.
  const ptrdiff_t* tap_offsets = nullptr;
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
  // The bytes after each row, up to a multiple of sixteen, may be read; their values are any.
  bool rows_padded = false;
  // The zero row: its codes are all -lhs_offset, so that it adds nothing. A tap may be skipped where all rows
  // of a tile point at it, outside the picture. nullptr: there is none.
  const int8_t* zero_row = nullptr;
  // For a kernel that does not pack, m as large as may be: row r stands at first_row + r * row_distance. Where it takes
  // windows, row r is number first_window + r of those of the picture at first_row.
  const int8_t* first_row = nullptr;
  ptrdiff_t row_distance = 0;
  const GemmS8Windows* windows = nullptr;
  int32_t first_window = 0;
};

struct GemmS8Kernel {
  const char* name;
  IsaMask isa;
  int32_t mr, nr, kr;
  int32_t lhs_offset;
  bool packs;
  int32_t lhs_bytes;  // an element in the kernel's own copy of a tile's rows; 0: it makes none
  void (*function)(const GemmS8Args& args);  // nullptr where this build has not compiled it
  bool narrow_panels = false;
  int32_t pair_gap = 0;
  int32_t lanes = 0;  // 0: columns in natural order
  bool pair_safe_panels = false;
  int16_t row_multiple = 1;
  int16_t min_rows = 1;                   // of a layer: the next one that fits is better with fewer
  int32_t tap_offsets_max_n = 0;          // takes tap_offsets where n is at most this
  int16_t tap_offsets_max_channels = 32;  // with more, a tap is worth addresses of its own
  int16_t lhs_rows = 0;  // of its own copy, sixteen depths at a time; 0: all of them, kr at a time
};

// Best first. The scalar kernel is the last one and fits always.
int32_t gemm_s8_count();
const GemmS8Kernel& gemm_s8_kernel(int32_t index);
// The first that `isa` allows for a layer of so many rows, compiled or not: on this machine pass cpu_isa() & kCompiledIsa.
int32_t gemm_s8_select(IsaMask isa, int32_t rows = INT32_MAX);

// Scratch of calls with at most `rows` rows and exactly so many taps; a multiple of 64. `padded`: windows may reach outside their
// picture.
int64_t gemm_s8_scratch_bytes(const GemmS8Kernel& kernel, int32_t rows, int32_t taps, int32_t k,
                              bool padded = false);
int64_t gemm_s8_packed_bytes(const GemmS8Kernel& kernel, int32_t n, int32_t taps, int32_t k);

// Of the kernel dsp: its memory for 3 x 3 windows, of which tiles share columns of a picture (gemm_s8_dsp_lines.h). A tile takes
// 4 * depth + 16 bytes, a column 2 * depth. There are eight tiles if these are small, else as many as 5.7 KB hold.
inline int32_t gemm_s8_dsp_lines_bytes(int32_t depth) {
  constexpr int32_t kBytes = 5824;
  return depth < kBytes / 34 - 3 ? 34 * depth + 128 : kBytes;
}

// How many windows it copies at once, where blocks of four would cross taps (gemm_s8_dsp_rows.h).
inline constexpr int32_t kGemmS8DspRows = 16;

struct GemmS8Weights {
  const int8_t* weights;       // plain
  const int32_t* folded_bias;  // [n]; this and multiplier are read where lhs_offset is not 0
  const float* multiplier;     // [n]
  int32_t n, taps, k;
  bool used_once = false;  // one product's: no time goes into a good order (gemm_s8_pairs.h)
};
// packed: gemm_s8_packed_bytes(), 4-aligned.
void gemm_s8_pack(const GemmS8Kernel& kernel, const GemmS8Weights& plain, void* packed);

}  // namespace intaglio
