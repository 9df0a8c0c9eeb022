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
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

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
