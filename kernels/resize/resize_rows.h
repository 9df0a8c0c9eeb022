// Resizing of NHWC pictures, one output row at a time. `in` elements of an axis become `out`:
//
//   coordinate  x(o) = (o + 1/2) * in / out - 1/2   (half pixel)
//                      o * (in - 1) / (out - 1)      (align corners; 0 where out is 1)
//                      o * in / out                  (asymmetric)
//               exact, as a quotient of integers, then held within [0, in - 1]
//   nearest     the element at floor(x), ceil(x), ceil(x - 1/2) (half down) or floor(x + 1/2) (half up)
//   bilinear    between first = floor(x) and second = min(first + 1, in - 1), f = x - first:
//     codes     w = floor(2048 * f + 1/2), 11 bits, of the second; 2048 - w of the first.
//               t = x00 * (2048 - wx) + x01 * wx, b the same of the row below;
//               q = (t * (2048 - wy) + b * wy + 2^21) >> 22      half rounds up; input and output have one
//               scale
//     FP32      w = f32(remainder) / f32(divisor); t = fma(wx, x01 - x00, x00), b the same;
//               y = fma(wy, b - t, t), canonical
//
// Outputs overlap no input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "intaglio/isa.h"

namespace intaglio {

// The inputs of an output coordinate of one axis.
template <typename Weight>
struct ResizeTap {
  int32_t first, second;
  Weight weight;  // of `second`
};
using ResizeTapS8 = ResizeTap<int32_t>;
using ResizeTapF32 = ResizeTap<float>;

inline constexpr int32_t kResizeOne = 2048;

// One output row from two input rows; `row_weight` is the bottom one's.
template <typename T, typename Weight>
struct ResizeRow {
  const T *top, *bottom;
  Weight row_weight;
  const ResizeTap<Weight>* taps;  // [ow], `first` and `second` ascend
  int32_t ow, channels;
  T* y;  // [ow, channels]
};

using ResizeRowS8 = ResizeRow<int8_t, int32_t>;
using ResizeRowF32 = ResizeRow<float, float>;

// A function is nullptr where this build has not compiled it. Rows of one call, at least one, have the same taps and channels:
// what a kernel makes of a tap serves all.
struct ResizeRowsKernel {
  const char* name;
  IsaMask isa;
  void (*rows_s8)(const ResizeRowS8* rows, int32_t count);
  void (*rows_f32)(const ResizeRowF32* rows, int32_t count);
};

// Best first. The scalar kernel is the last one.
int32_t resize_rows_count();
const ResizeRowsKernel& resize_rows_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t resize_rows_select(IsaMask isa);

// int16 codes, as `codes` above, by plain loops on every machine. The sum of the two rows has 64 bits.
void resize_rows_s16(const ResizeRow<int16_t, int32_t>* rows, int32_t count);

// Copies pixels of `pixel_bytes` by their taps' first element.
template <typename Weight>
inline void resize_row_nearest(const uint8_t* x, const ResizeTap<Weight>* taps, int32_t ow,
                               int32_t pixel_bytes, uint8_t* y) {
  for (int32_t o = 0; o < ow; ++o, y += pixel_bytes)
    memcpy(y, x + static_cast<ptrdiff_t>(taps[o].first) * pixel_bytes, static_cast<size_t>(pixel_bytes));
}

}  // namespace intaglio
