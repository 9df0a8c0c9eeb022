// Windows of pictures for the tests of kernels that take them.
#pragma once

#include "kernels/gemm/gemm_s8_windows.h"
#include "tests/support/random.h"

namespace intaglio::test {

// Windows of a picture, perhaps far outside it; at least `rows` of them, of `taps` taps of k depths.
inline GemmS8Windows random_windows(int32_t rows, int32_t taps, int32_t k, Random& random) {
  const int32_t channels = k + random.between(0, 1) * random.between(0, 5);
  GemmS8Windows of = {1, rows, channels, 1, rows, 1, 1, 1, 1, 1, 1, 0, 0, random.between(-128, 127)};
  if (taps == 1 && random.one_in(2)) return of;  // rows at one distance
  of.kernel_w = taps % 3 == 0 && random.one_in(2) ? 3 : random.one_in(3) ? taps : 1;
  of.kernel_h = taps / of.kernel_w;
  of.channels = k * (random.one_in(4) ? 2 : 1);
  of.h = random.between(1, 9);
  of.w = random.between(1, 12);
  of.oh = random.between(1, 5);
  of.ow = random.between(1, 9);
  of.stride_h = random.between(1, 2);
  of.stride_w = random.between(1, 2);
  of.dilation_h = random.one_in(4) ? random.between(0, 2) : 1;
  of.dilation_w = random.one_in(4) ? 2 : 1;
  of.pad_top = random.between(-1, 2);
  of.pad_left = random.between(-1, 2);
  return of;
}

// The values that row `number` reads at each tap, from the definition: `padding` outside the picture.
inline const int8_t* window_tap(const GemmS8Windows& of, const int8_t* input, int32_t number, int32_t tap,
                                const int8_t* padding) {
  const int32_t image = number / (of.oh * of.ow), out_y = number / of.ow % of.oh, out_x = number % of.ow;
  const int32_t y = out_y * of.stride_h - of.pad_top + tap / of.kernel_w * of.dilation_h,
                x = out_x * of.stride_w - of.pad_left + tap % of.kernel_w * of.dilation_w;
  if (y < 0 || y >= of.h || x < 0 || x >= of.w) return padding;
  return input + ((image * of.h + y) * of.w + x) * of.channels;
}

}  // namespace intaglio::test
