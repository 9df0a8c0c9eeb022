// Depthwise convolution of a few pixels whose results leave in FP32.
//
//   y[p * y_stride + o] = min(max(f32(acc[p][o]) * multiplier[o], lo), hi)                       (output_f32.h)
//
// acc, rows, weights and scratch as in dwconv_s8.h, of whose arguments output, requant and pixel_step are not read. One
// conversion, one product, each to nearest even. Multipliers lie in [2^-80, 2^80], so that no product is subnormal or
// infinite. lo <= hi, neither a NaN. y overlaps nothing.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {

struct DwconvS8F32Args : DwconvS8Args {
  float* y = nullptr;
  size_t y_stride = 0;
  ClampF32 clamp = kNoClamp;
};

struct DwconvS8F32Kernel : DwconvS8Kernel {
  void (*f32_function)(const DwconvS8F32Args& args) =
      nullptr;  // in place of `function`; nullptr where it is not compiled
};

// Best first. The scalar kernel is the last one and fits always.
int32_t dwconv_s8_f32_count();
const DwconvS8F32Kernel& dwconv_s8_f32_kernel(int32_t index);
// The first that `isa` and its preconditions allow, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t dwconv_s8_f32_select(IsaMask isa, int32_t depth_multiplier);

}  // namespace intaglio
