// Depthwise convolution of a few pixels, int16 activations and int8 weights, with indirection.
//
//   sum[p][o] = bias[o] + sum over t < taps of rows[p * taps + t][o / depth_multiplier] * w[t][o]         exact
//   output[p * output_stride + o] = requantize_wide_s16(sum[p][o], multiplier[o], requant)       (requant_s16.h)
//
// for p < pixels and o < channels * depth_multiplier. Zero points are 0, so a padded tap points at a row of zeros. The scalar
// kernel sums in 64 bits. The others need sums that fit 32: |bias| + 2^15 * sum of |w| is at most 2^31 - 1 in each channel.
//
// Layouts: rows [pixels][taps] pointers, each to `channels` codes. Weights [taps][channels * depth_multiplier], used in place.
// output overlaps nothing.
#pragma once

#include <cstddef>

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

struct DwconvS16Args {
  const int16_t* const* rows;
  const int8_t* weights;
  const int32_t* bias;
  const float* multiplier;
  int16_t* output;
  size_t output_stride;
  OutputS16 requant;
  int32_t pixels, taps, channels, depth_multiplier;
};

struct DwconvS16Kernel {
  const char* name;
  IsaMask isa;
  bool is_narrow;  // sums of 32 bits, a depth multiplier of 1, 8 channels or more
  void (*function)(const DwconvS16Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one and fits always.
int32_t dwconv_s16_count();
const DwconvS16Kernel& dwconv_s16_kernel(int32_t index);
inline constexpr int32_t kDwconvS16MinChannels = 8;
// The first that `isa` allows, compiled or not; `narrow`: whether what is_narrow says holds.
int32_t dwconv_s16_select(IsaMask isa, bool narrow);

}  // namespace intaglio
