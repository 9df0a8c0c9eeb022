// Transposed convolution, which the runtime has no operator for: one plain convolution whose output channels are the
// phases of the stride, and a move of channels to pixels. Exact in FP32 and in int8, since each output is the same sum.
//
//   y[o] = bias + sum over i, k with o = i * stride + k * dilation - before of x[i] * w[k]        (each axis likewise)
#pragma once

#include "importers/draft/geometry.h"

namespace intaglio::importers {

struct TransposedConv {
  WindowAxis h, w;  // `before`: what is cut off in front; `after` is not read
  int32_t out_h = 0, out_w = 0;
  int32_t groups = 1;
};

// What is left of the whole result, (in - 1) * stride + extent, when before and after are cut off and `extra` is added.
int32_t transposed_output(const WindowAxis& axis, int32_t in, int32_t extra);

// x: [n, h, w, c], FP32 or int8. weights: [oc, kh, kw, c / groups] with scales along axis 0 or one scale; bias: [oc].
// y: [n, out_h, out_w, oc], which the caller made, with its type and quantization; it is written by the last node.
// Gives the convolution, for its activation.
DraftNode& add_transposed_conv(Draft& draft, const std::string& name, const std::string& source, int32_t x,
                               DraftTensor weights, DraftTensor bias, int32_t y, const TransposedConv& conv);

}  // namespace intaglio::importers
