// Depthwise convolution of a few pixels, FP32, with indirection.
//
//   v[p][o] = bias[o], then v = fma(rows[p * taps + t][o / depth_multiplier], w[t][o], v), t < taps in order
//   output[p * output_stride + o] = finish_f32(v + 0.0f, clamp)                                (output_f32.h)
//
// for p < pixels and o < channels * depth_multiplier. A padded tap points at a row of zeros; weights and bias
// are finite.
//
// Layouts: rows [pixels][taps] pointers, each to `channels` floats. Weights [taps][channels *
// depth_multiplier], used in place. output overlaps nothing.
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/output_f32.h"

namespace intaglio {

struct DwconvF32Args {
  const float* const* rows;
  const float* weights;
  const float* bias;  // nullptr: zeros
  float* output;
  size_t output_stride;
  ClampF32 clamp;
  int32_t pixels, taps, channels, depth_multiplier;
};

struct DwconvF32Kernel {
  const char* name;
  IsaMask isa;
  int32_t pixels;                               // best number of pixels for a call; any number is right
  int32_t max_depth_multiplier;                 // 0: any
  void (*function)(const DwconvF32Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one and fits always.
int32_t dwconv_f32_count();
const DwconvF32Kernel& dwconv_f32_kernel(int32_t index);
// The first that `isa` and its preconditions allow, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t dwconv_f32_select(IsaMask isa, int32_t depth_multiplier);

}  // namespace intaglio
