// Depthwise convolution of a few pixels, int8, with indirection.
//
//   acc[p][o] = folded_bias[o] + sum over t < taps of rows[p * taps + t][o / depth_multiplier] * w[t][o]
//   output[p * output_stride + o] = requantize_s8(acc[p][o], multiplier[o], requant)             (requant.h)
//
// for p < pixels and o < channels * depth_multiplier; wrapping int32. The bias has the input zero point
// folded in, so a padded tap points at a row that holds the input zero point. Weights of -128 are exact in
// every kernel.
//
// Layouts: rows [pixels][taps] pointers, each to `channels` bytes. Weights [taps][channels *
// depth_multiplier], used in place. output overlaps nothing.
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/arithmetic/requant.h"

namespace intaglio {

struct DwconvS8Args {
  const int8_t* const* rows;
  const int8_t* weights;
  const int32_t* folded_bias;
  const float* multiplier;
  int8_t* output;
  size_t output_stride;
  void* scratch;  // dwconv_s8_scratch_bytes(), 64-aligned
  OutputS8 requant;
  int32_t pixels, taps, channels, depth_multiplier;
  // Not 0: rows are [taps], of the first pixel, and each further pixel's stand so many bytes behind. For kernels without
  // scratch.
  int32_t pixel_step = 0;
};

struct DwconvS8Kernel {
  const char* name;
  IsaMask isa;
  int32_t pixels;                              // best number of pixels for a call; any number is right
  int32_t max_depth_multiplier;                // 0: any
  int32_t tap_bytes;                           // scratch for each tap
  void (*function)(const DwconvS8Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one and fits always.
int32_t dwconv_s8_count();
const DwconvS8Kernel& dwconv_s8_kernel(int32_t index);
// The first that `isa` and its preconditions allow, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t dwconv_s8_select(IsaMask isa, int32_t depth_multiplier);

int64_t dwconv_s8_scratch_bytes(const DwconvS8Kernel& kernel, int32_t taps);  // a multiple of 64

// Depthwise convolution of a few pixels whose results leave in FP32.
//
//   y[p * y_stride + o] = min(max(f32(acc[p][o]) * multiplier[o], lo), hi)                       (output_f32.h)
//
// acc, rows, weights and scratch as in dwconv_s8.h, of whose arguments output, requant and pixel_step are not read. One
// conversion, one product, each to nearest even. Multipliers lie in [2^-80, 2^80], so that no product is subnormal or
// infinite. lo <= hi, neither a NaN. y overlaps nothing.

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
