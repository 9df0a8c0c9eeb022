// Row tiles of an int8 matrix product whose results leave in FP32: convolutions and fully connected layers whose output no
// quantizer reads.
//
//   acc[r][c] = folded_bias[c] + sum over t < taps, i < k of rows[t * mr + r][i] * w[c][t][i]       (gemm_s8.h)
//   y[r * y_stride + c] = min(max(f32(acc[r][c]) * multiplier[c], lo), hi)                        (output_f32.h)
//
// One conversion, one product, each to nearest even. Rows, weights, their panels and scratch are those of gemm_s8.h: a
// kernel is one of its kernels with another end, for which gemm_s8_pack() and gemm_s8_scratch_bytes() serve. Of the arguments there
// output, residual, add and requant are not read. Multipliers lie in [2^-80, 2^80], so that no product is subnormal or
// infinite. lo <= hi, neither a NaN. y overlaps nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

struct GemmS8F32Args : GemmS8Args {
  float* y = nullptr;
  size_t y_stride = 0;
  ClampF32 clamp = kNoClamp;
};

struct GemmS8F32Kernel : GemmS8Kernel {
  void (*f32_function)(const GemmS8F32Args& args) =
      nullptr;  // in place of `function`; nullptr where it is not compiled
};

// Best first. The scalar kernel is the last one and fits always; it does not pack, and takes windows or rows at one distance.
int32_t gemm_s8_f32_count();
const GemmS8F32Kernel& gemm_s8_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t gemm_s8_f32_select(IsaMask isa);

// One row of int8 codes times plain int8 weights, with FP32 results: the end of an int8 model.
//
//   acc = bias[c] + sum over i of x[i] * w[c * k + i]   may wrap in between: the caller has proved the whole
//   y[c] = f32(acc) * multiplier[c]                     one conversion, one multiply, each to nearest even
//
// x [k] codes, w [n, k] in [-128, 127], bias [n] with the zero point of x folded in, multiplier [n] finite;
// y [n]. n and k at least 1; no alignment is needed. y overlaps nothing.

using GemvS8F32 = void(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                       float* y, int32_t n, int32_t k);

struct GemvS8F32Kernel {
  const char* name;
  IsaMask isa;
  GemvS8F32* function;  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t gemv_s8_f32_count();
const GemvS8F32Kernel& gemv_s8_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t gemv_s8_f32_select(IsaMask isa);

}  // namespace intaglio
