// Row tiles of a matrix product of int16 activations and int8 weights, with indirection: convolutions and fully connected
// layers.
//
//   sum[r][c] = bias[c] + sum over t < taps, i < k of rows[t * mr + r][i] * w[c][t][i]             exact, in 64 bits
//   output[r * output_stride + c] = requantize_wide_s16(sum[r][c], multiplier[c], requant)     (requant_s16.h)
//
// for r < m <= mr and c < n. Zero points are 0, so a padded tap points at a row of zeros. taps * k is below 2^31.
//
// How the sum stays exact: a product is at most 2^22, so int32 holds the sum of kGemmS16Depths of them. Kernels add so
// many in 32 bits, and these sums in 64. Where |bias| + 2^15 * sum of |w| is at most 2^31 - 1 no sum can leave 32 bits: a
// panel says so, and its kernel stays in them.
//
// rows: [taps][mr] pointers, each to k codes; what stands past m is not read. Plain weights: [n][taps][k], used in place.
// Packed weights: a panel for every nr columns, int32, 1 where its sums fit 32 bits, else 0; three more for alignment;
// then [taps][ceil(k / kr)][nr][kr], padded with zeros. output overlaps nothing.
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

inline constexpr int32_t kGemmS16Depths = 508;

struct GemmS16Args {
  const int16_t* const* rows;
  const int8_t* weights;  // packed where the kernel packs
  const int32_t* bias;
  const float* multiplier;
  int16_t* output;
  size_t output_stride;
  OutputS16 requant;
  int32_t m, n, taps, k;
};

struct GemmS16Kernel {
  const char* name;
  IsaMask isa;
  int32_t mr, nr, kr;
  bool packs;
  void (*function)(const GemmS16Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one and fits always.
int32_t gemm_s16_count();
const GemmS16Kernel& gemm_s16_kernel(int32_t index);
// The first that `isa` allows, compiled or not: on this machine pass cpu_isa() & kCompiledIsa.
int32_t gemm_s16_select(IsaMask isa);

int64_t gemm_s16_packed_bytes(const GemmS16Kernel& kernel, int32_t n, int32_t taps, int32_t k);
// weights [n][taps][k], bias [n]; packed: gemm_s16_packed_bytes(), 4-aligned.
void gemm_s16_pack(const GemmS16Kernel& kernel, const int8_t* weights, const int32_t* bias, int32_t n,
                   int32_t taps, int32_t k, int8_t* packed);

// A panel of a product of two matrices of int16 codes, whose zero points are 0.
//
//   sum[r][c] = sum over i < k of a[r * a_stride + i] * b[i][c]              exact, in 64 bits
//   output[r * output_stride + c] = requantize_wide_s16(sum[r][c], multiplier, requant)     (requant_s16.h)
//
// for r < m and c < n <= nr. The panel holds two depths of each column side by side: [ceil(k / 2)][nr][2], padded with zeros.
// k is at most kMatmulS16Depths. output overlaps nothing.
//
// How the sums of vector kernels stay exact: the sum of two products lies in (-2^31, 2^31]. Less 1 it fits int32. Its upper
// and its lower half are summed apart, in 32 bits each: of 2^15 such steps.

inline constexpr int32_t kMatmulS16Depths = 1 << 16;

struct MatmulS16Args {
  const int16_t *a, *panel;
  int16_t* output;
  ptrdiff_t a_stride, output_stride;  // elements
  float multiplier;
  OutputS16 requant;
  int32_t m, n, k;
};

struct MatmulS16Kernel {
  const char* name;
  IsaMask isa;
  int32_t nr;
  void (*function)(const MatmulS16Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t matmul_s16_count();
const MatmulS16Kernel& matmul_s16_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t matmul_s16_select(IsaMask isa);

int64_t matmul_s16_panel_bytes(const MatmulS16Kernel& kernel, int32_t k);
// n <= nr columns of b: element i of column c stands at b[i * depth_stride + c * column_stride].
void matmul_s16_pack(const MatmulS16Kernel& kernel, const int16_t* b, ptrdiff_t depth_stride,
                     ptrdiff_t column_stride, int32_t n, int32_t k, int16_t* panel);

}  // namespace intaglio
