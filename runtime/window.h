// Geometry of convolution and pooling windows, shared by the int8 and FP32 variants of their operators.
#pragma once

#include "runtime/op.h"

namespace intaglio {

// Checks a node's window and that it takes an input of in_h x in_w to exactly out_h x out_w. Bounds keep
// coordinates within int32. With dilation an output may still have no tap inside a small input.
Error check_window(const NodeView& node, int32_t in_h, int32_t in_w, int32_t out_h, int32_t out_w);

// Rows or columns from a window's first tap to its last one. Any values may stand in a file.
inline int64_t window_extent(int32_t kernel, int32_t dilation) {
  return (int64_t{kernel} - 1) * dilation + 1;
}

// Input coordinate of a window's tap; may lie outside the input: padding.
inline int32_t input_y(const Window2d& window, int32_t out_y, int32_t tap_y) {
  return out_y * window.stride_h - window.pad_top + tap_y * window.dilation_h;
}
inline int32_t input_x(const Window2d& window, int32_t out_x, int32_t tap_x) {
  return out_x * window.stride_w - window.pad_left + tap_x * window.dilation_w;
}

}  // namespace intaglio
