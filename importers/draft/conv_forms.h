// Convolutions that are drafted as other layers: with weights that are computed, transposed, of three dimensions.
#pragma once

#include "importers/draft/draft.h"
#include "importers/draft/geometry.h"

namespace intaglio::importers {

// Transposed convolution, which the runtime has no operator for: one plain convolution whose output channels are the
// phases of the stride, and a move of channels to pixels. Exact in FP32 and in int8, since each output is the same sum.
//
//   y[o] = bias + sum over i, k with o = i * stride + k * dilation - before of x[i] * w[k]        (each axis likewise)
struct TransposedConv {
  WindowAxis h, w;  // `before`: what is cut off in front; `after` is not read
  int32_t out_h = 0, out_w = 0;
  int32_t groups = 1;
};

// The length of the whole result, (in - 1) * stride + extent, when before and after are cut off and `extra` is added.
int32_t transposed_output(const WindowAxis& axis, int32_t in, int32_t extra);

// x: [n, h, w, c], FP32 or int8. weights: [oc, kh, kw, c / groups] with scales along axis 0 or one scale; bias: [oc].
// y: [n, out_h, out_w, oc], which the caller made, with its type and quantization; it is written by the last node.
// Gives the convolution, for its activation.
DraftNode& add_transposed_conv(const Origin& at, int32_t x, DraftTensor weights, DraftTensor bias, int32_t y,
                               const TransposedConv& conv);

// Convolutions whose weights a run computes, which no operator of the runtime takes: a Gather lays out what each place of the
// window reads, and a product of two activations sums it. FP32.

// x: [n, h, w, c]. weights: [oc, kh, kw, c / groups]. Either may be a constant of the draft. Gives [n, oh, ow, oc].
int32_t add_computed_conv(const Origin& at, int32_t x, int32_t weights, int32_t groups, const WindowAxis& h,
                          const WindowAxis& w);
// The same of a transposed one, by the equation in conv_forms.h.
int32_t add_computed_transposed_conv(const Origin& at, int32_t x, int32_t weights,
                                     const TransposedConv& conv);

// Windows over three dimensions, as windows over height and width: the slices that a window covers stand side by side as
// channels.

// Which slice of the depth each place of each window reads, [out * kernel]; -1: one of zeros. Throws where the
// list is larger than what the draft's constants leave room for.
std::vector<int32_t> window_slices(const Draft& draft, const WindowAxis& depth, int32_t in, int32_t out);
// The same of a transposed convolution, by the equation in conv_forms.h.
std::vector<int32_t> transposed_window_slices(const Draft& draft, const WindowAxis& depth, int32_t in,
                                              int32_t out);

// x [n, d, h, w, c] as [n * out, h, w, c * kernel], FP32: each group's channels of the slices `slices[o * kernel + k]` in turn.
int32_t add_stacked_slices(const Origin& at, int32_t x, int32_t groups, int32_t kernel,
                           std::vector<int32_t> slices);

}  // namespace intaglio::importers
