// Checks that several operators' plan() make. Each fault has its own status, and names the tensor.
#pragma once

#include <cstdint>

#include "kernels/arithmetic/blocked_sum.h"
#include "kernels/arithmetic/output_f32.h"
#include "runtime/op.h"

namespace intaglio {

// The node has from min_inputs to max_inputs inputs, none of the first min_inputs absent, and one output.
Error check_counts(const NodeView& node, int32_t min_inputs, int32_t max_inputs);

Error check_input_dtype(const NodeView& node, int32_t i, DType dtype);
Error check_output_dtype(const NodeView& node, DType dtype);
Error check_input_rank(const NodeView& node, int32_t i, int32_t rank);
Error check_output_rank(const NodeView& node, int32_t rank);
Error check_output_shape(const NodeView& node, const Shape& expected);
// Input i is a constant of this type with this many elements, in any shape.
Error check_constant(const NodeView& node, int32_t i, DType dtype, int64_t elements);

// An int8 activation: s8, one scale within its range, a zero point in [-128, 127].
Error check_input_s8(const NodeView& node, int32_t i);
Error check_output_s8(const NodeView& node);
// One of 16 bits: s16, one scale within its range, the zero point 0.
Error check_input_s16(const NodeView& node, int32_t i);
Error check_output_s16(const NodeView& node);
// The first input and the output.
Error check_ends_s16(const NodeView& node);
// The output's scale and zero point are the first input's, bit for bit. Both are activations in codes of one type.
Error check_same_quantization(const NodeView& node);

// One input and an output, in codes of 16 bits of one scale: an operator that moves elements.
Error check_move_s16(const NodeView& node);

// Fused activation: codes with -128 <= clamp_lo <= clamp_hi <= 127; reals with clamp_min <= clamp_max.
Error check_clamp_codes(const NodeView& node);
Error check_clamp_codes_s16(const NodeView& node);  // within [-32768, 32767]
Error check_clamp_reals(const NodeView& node);
// A sum of int8 products that leaves in FP32 has no fused activation.
Error check_no_clamp(const NodeView& node);

// A function of one variable: FP32 in and out, finite parameters.
Error check_unary(const NodeView& node);
inline bool is_finite(float v) { return v - v == 0.0f; }

// A sum of `terms` differences of two codes, of 8 bits or of 16, fits int32.
Error check_sum_s8(const NodeView& node, int64_t terms);
Error check_sum_s16(const NodeView& node, int64_t terms);

// A node's fused activation as kernels take it.

inline ClampF32 fused_clamp(const NodeView& node) {
  const Clamp& clamp = node.options<Clamp>();
  return {clamp.min, clamp.max};
}

// Terms of a block of an FP32 sum.
inline int32_t sum_block(const NodeView& node) { return node.model->blocked_sums() ? kSumBlock : kOneBlock; }

// Indices that a run computes. A run cannot fail, and reads no memory but its tensors'.

// The place in an axis of `dim` that an index means: below 0 it counts from the end, as ONNX has it, and one that does
// not exist is the nearest that does. onnxruntime and TFLite end the run there.
constexpr int32_t index_on_axis(int32_t index, int32_t dim) {
  if (index < 0) index += dim;
  return index < 0 ? 0 : index < dim ? index : dim - 1;
}

}  // namespace intaglio
