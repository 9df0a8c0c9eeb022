// The checks in plan() of operators with weights, bias and a residual input.
//   inputs: 0 x, 1 weights, 2 bias or absent, 3 residual (convolutions alone)
#pragma once

#include "runtime/op.h"

namespace intaglio {

inline constexpr int32_t kWeightInput = 1, kBiasInput = 2, kResidualInput = 3;

// int8 weights with their output channels at `axis`: a constant, zero point 0, a scale for each channel or
// one for all; int32 bias; multiplier and folded bias, bit for bit those that scales and weights give; and
// per channel |bias| + 255 * sum |w| <= 2^31 - 1. `out_scale` is of what the sum is requantized to.
Error check_weights_s8(const NodeView& node, int32_t axis, float out_scale);

// FP32 weights and bias: constants, each value finite.
Error check_weights_f32(const NodeView& node, int32_t axis);

// Scale and zero point between an int8 convolution and the addition of its residual, the residual itself, and
// that the addition is exact in integers. The output has been checked.
Error check_residual_s8(const NodeView& node);
Error check_residual_f32(const NodeView& node);

// x, output and clamp of an int8 operator; then its weights, too, where it takes no residual.
Error check_conv_ends_s8(const NodeView& node);
Error check_conv_s8(const NodeView& node, int32_t axis);
// The same of int16 activations and int8 weights, without a residual. Their sums have 64 bits: nothing is to be proved.
Error check_conv_s16(const NodeView& node, int32_t axis);
// The same of int8 activations whose sums leave in FP32, with a clamp of reals.
Error check_conv_s8_f32(const NodeView& node, int32_t axis);
// The checks above in their order, with the clamp's. x and output first, then weights.
Error check_conv_f32(const NodeView& node, int32_t axis, bool residual_allowed);

}  // namespace intaglio
