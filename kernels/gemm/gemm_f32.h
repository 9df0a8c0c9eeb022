// Row tiles of an FP32 matrix product with indirection: convolutions and fully connected layers.
//
//   v[r][c]      = bias[c], then v = fma(rows[t * mr + r][i], w[c][t][i], v), t < taps, i < k in this order
//   output[r][c] = finish_f32((v + 0.0f) [+ residual[r][c]], clamp)                            (output_f32.h)
//
// for r < m <= mr and c < n, at r * output_stride + c. One chain an output, so all kernels agree to the bit:
// vectorise across outputs, never across k. A padded tap points at a row of zeros; weights and bias are
// finite.
//
// Layouts: rows [taps][mr] pointers, those past m unread, each to k floats. Plain weights [n][taps][k], used
// in place. Packed weights: a panel for each nr columns, [taps][k][nr], padding zero. output may be residual
// itself (same stride); else it overlaps nothing.
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/output_f32.h"

namespace intaglio {

struct GemmF32Args {
  const float* const* rows;
  const float* weights;  // packed where the kernel packs
  const float* bias;     // nullptr: zeros
  float* output;
  size_t output_stride;
  const float* residual;  // nullptr: none
  size_t residual_stride;
  ClampF32 clamp;
  int32_t m, n, taps, k;
};

struct GemmF32Kernel {
  const char* name;
  IsaMask isa;
  int32_t mr, nr;
  bool packs;
  void (*function)(const GemmF32Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one and fits always.
int32_t gemm_f32_count();
const GemmF32Kernel& gemm_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: on this machine pass cpu_isa() & kCompiledIsa.
int32_t gemm_f32_select(IsaMask isa);

int64_t gemm_f32_packed_bytes(const GemmF32Kernel& kernel, int32_t n, int32_t taps, int32_t k);
// weights: plain. packed: gemm_f32_packed_bytes(), 4-aligned.
void gemm_f32_pack(const GemmF32Kernel& kernel, const float* weights, int32_t n, int32_t taps, int32_t k,
                   float* packed);
// The same of one tap's weights that stand as [k][n], each row `stride` floats behind the one before; where the kernel does
// not pack, plain weights [n][k]. packed: n rounded up to nr, times k.
void gemm_f32_pack_rows(const GemmF32Kernel& kernel, const float* weights, ptrdiff_t stride, int32_t n,
                        int32_t k, float* packed);

}  // namespace intaglio
