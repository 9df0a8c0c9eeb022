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
#include "kernels/compiled_isa.h"

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

// Depthwise convolution, 3 x 3, 5 x 5 or 7 x 7, of one or two lines of output, FP32.
//
//   v[j][x][c] = bias[c], then v = fma(in[j * stride + ky][x * stride - pad_left + kx][c], w[ky][kx][c], v)
//                over ky, kx < side in this order
//   output[j][x * channels + c] = finish_f32(v + 0.0f, clamp) (output_f32.h)
//
// for x < ow and c < channels: the chains of dwconv_f32.h. What stands in a register serves several columns
// of output and, 3 x 3 at stride 1, two lines. A column outside [0, w) holds `padding`; weights and bias are
// finite.
//
// Layouts: an input line is a pointer to its first column and the step to the next, 0 where a line of padding
// is one column. Weights [side][side][channels], used in place. output overlaps nothing.

struct DwconvLinesF32Args {
  const float* lines[7];  // those of the window, and one more where two lines of output are made
  ptrdiff_t steps[7];
  const float* padding;  // `channels` zeros
  const float* weights;
  const float* bias;  // nullptr: zeros
  float* output[2];   // the second is nullptr where one line is made
  ClampF32 clamp;
  int32_t w, ow, channels, pad_left;
  int32_t side, stride;  // dwconv_lines_fit() says which
};

// Windows of 7 x 7 stand where nothing shrinks.
inline constexpr bool dwconv_lines_fit(int32_t side, int32_t stride) {
  return side == 3 || side == 5 ? stride == 1 || stride == 2 : side == 7 && stride == 1;
}
// Lines of output at once.
inline constexpr int32_t dwconv_lines_at_once(int32_t side, int32_t stride) {
  return side == 3 && stride == 1 ? 2 : 1;
}

struct DwconvLinesF32Kernel {
  const char* name;
  IsaMask isa;
  int32_t min_channels;                              // of a call
  void (*function)(const DwconvLinesF32Args& args);  // nullptr where this build has not compiled it
};

// Whether this build lists any.
#define ITG_DWCONV_LINES_F32(isa, ...) ITG_LISTED(isa, || true)
inline constexpr bool kListsDwconvLinesF32 = false
#include "kernels/dwconv/dwconv_lines_f32_kernels.inc"
    ;
#undef ITG_DWCONV_LINES_F32

int32_t dwconv_lines_f32_count();
const DwconvLinesF32Kernel& dwconv_lines_f32_kernel(int32_t index);
// The first that `isa` and `channels` allow, compiled or not; -1: none.
int32_t dwconv_lines_f32_select(IsaMask isa, int32_t channels);

}  // namespace intaglio
