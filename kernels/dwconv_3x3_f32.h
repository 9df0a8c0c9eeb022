// Depthwise convolution, 3 x 3, of one or two lines of output, FP32.
//
//   v[j][x][c]   = bias[c], then v = fma(in[j * stride + ky][x * stride - pad_left + kx][c], w[ky][kx][c], v)
//   over ky, kx < 3 in this order output[j][x * channels + c] = finish_f32(v + 0.0f, clamp) (output_f32.h)
//
// for x < ow and c < channels: the chains of dwconv_f32.h. What stands in a register serves three columns of
// output and, at stride 1, two lines. A column outside [0, w) holds `padding`; weights and bias are finite.
//
// Layouts: an input line is a pointer to its first column and the step to the next, 0 where a line of padding
// is one column. Weights [3][3][channels], used in place. output overlaps nothing.
#pragma once

#include <cstddef>

#include "kernels/compiled_isa.h"
#include "kernels/output_f32.h"

namespace intaglio {

struct Dwconv3x3F32Args {
  const float* lines[4];  // at stride 2 the fourth is unused
  ptrdiff_t steps[4];
  const float* padding;  // `channels` zeros
  const float* weights;
  const float* bias;  // nullptr: zeros
  float* output[2];   // the second is nullptr at stride 2, and where there is none
  ClampF32 clamp;
  int32_t w, ow, channels, pad_left;
  int32_t stride;  // 1 or 2
};

struct Dwconv3x3F32Kernel {
  const char* name;
  IsaMask isa;
  void (*function)(const Dwconv3x3F32Args& args);  // nullptr where this build has not compiled it
};

// Whether this build lists any.
#define ITG_DWCONV_3X3_F32(suffix, isa) ITG_LISTED_##isa(|| true)
inline constexpr bool kListsDwconv3x3F32 = false
#include "kernels/dwconv_3x3_f32_kernels.inc"
    ;
#undef ITG_DWCONV_3X3_F32

int32_t dwconv_3x3_f32_count();
const Dwconv3x3F32Kernel& dwconv_3x3_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not; -1: none.
int32_t dwconv_3x3_f32_select(IsaMask isa);

}  // namespace intaglio
