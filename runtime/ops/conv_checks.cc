#include "runtime/ops/conv_checks.h"

#include <cstring>

#include "kernels/arithmetic/constant_checks.h"
#include "runtime/add_params.h"
#include "runtime/ops/checks.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

bool same_bits(float a, float b) {
  uint32_t bits_a, bits_b;
  memcpy(&bits_a, &a, sizeof a);
  memcpy(&bits_b, &b, sizeof b);
  return bits_a == bits_b;
}

// A weight tensor seen as [outer, channels, inner].
struct ChannelView {
  int64_t outer, channels, inner;
};

__attribute__((always_inline)) inline ChannelView channel_view(const Shape& shape, int32_t axis) {
  return {shape.elements(0, axis), shape[axis], shape.elements(axis + 1, shape.rank)};
}

__attribute__((always_inline)) inline Error check_weight_quantization(const NodeView& node, int32_t axis) {
  const Quantization q = node.input(kWeightInput).quantization;
  const int32_t channels = node.input_shape(kWeightInput)[axis];
  const auto error = [&](Status status, int64_t value, int64_t limit = 0) {
    return node.input_error(status, kWeightInput, value, limit);
  };
  if (q.scales.empty()) return error(Status::kQuantizationMissing, 0);
  if (q.axis != -1 && q.axis != axis) return error(Status::kBadQuantizationAxis, q.axis, axis);
  const size_t expected = q.axis == -1 ? 1 : static_cast<size_t>(channels);
  if (q.scales.size != expected)
    return error(Status::kScaleCount, static_cast<int64_t>(q.scales.size), static_cast<int64_t>(expected));
  for (size_t c = 0; c < q.scales.size; ++c)
    if (!is_scale(q.scales[c])) return error(Status::kBadScale, static_cast<int64_t>(c));
  if (q.zero_point != 0) return error(Status::kBadZeroPoint, q.zero_point, 0);
  return kNoError;
}

Error check_length(const NodeView& node, size_t found, int32_t channels) {
  if (found == static_cast<size_t>(channels)) return kNoError;
  if (found == 0) return node.error(Status::kMissingField);
  return node.error(Status::kShapeMismatch, static_cast<int64_t>(found), channels);
}

// Sums of codes of 16 bits are added in 64 bits, which every model's fit.
template <bool kIsWide>
Error check_sums(const NodeView& node, const ChannelView& view) {
  const auto* const w = reinterpret_cast<const int8_t*>(node.input(kWeightInput).constant.data);
  const auto* const bias = node.has_input(kBiasInput)
                               ? reinterpret_cast<const int32_t*>(node.input(kBiasInput).constant.data)
                               : nullptr;
  const int64_t zero_point = node.input(0).quantization.zero_point;
  for (int64_t c = 0; c < view.channels; ++c) {
    int64_t sum = 0, magnitude = 0;
    for (int64_t o = 0; o < view.outer; ++o) {
      const int8_t* const run = w + (o * view.channels + c) * view.inner;
      const WeightSums sums = sum_weights(run, view.inner);
      sum += sums.sum;
      magnitude += sums.magnitude;
    }
    const int64_t b = bias != nullptr ? bias[c] : 0;
    if (!kIsWide && (b < 0 ? -b : b) + 255 * magnitude > INT32_MAX)
      return node.input_error(Status::kAccumulatorOverflow, kWeightInput, c);
    if (node.options<Requantization>().folded_bias[static_cast<size_t>(c)] != b - zero_point * sum)
      return node.error(Status::kBadFoldedBias, c);
  }
  return kNoError;
}

Error check_finite(const NodeView& node, int32_t input, const ChannelView& view) {
  const auto* v = reinterpret_cast<const float*>(node.input(input).constant.data);
  if (all_finite(v, view.outer * view.channels * view.inner)) return kNoError;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t c = 0; c < view.channels; ++c)
      for (int64_t i = 0; i < view.inner; ++i)
        if (!is_finite(*v++)) return node.input_error(Status::kNonFinite, input, c);
  return kNoError;
}

Error check_residual_shape(const NodeView& node) {
  const Shape found = node.input_shape(kResidualInput), expected = node.output_shape();
  if (found.rank != expected.rank)
    return node.input_error(Status::kBadRank, kResidualInput, found.rank, expected.rank);
  for (int32_t i = 0; i < found.rank; ++i)
    if (found[i] != expected[i])
      return node.input_error(Status::kShapeMismatch, kResidualInput, found[i], expected[i]);
  return kNoError;
}

// Inlined, and with elements(first, last) that channel_view() calls as well: a board has int8 alone, and this is in the flash of
// each program that checks its model.
template <bool kIsWide>
__attribute__((always_inline)) inline Error check_weights(const NodeView& node, int32_t axis,
                                                          float out_scale) {
  const Shape shape = node.input_shape(kWeightInput);
  const int32_t channels = shape[axis];
  ITG_TRY(check_constant(node, kWeightInput, DType::kS8, shape.elements(0, shape.rank)));
  ITG_TRY(check_weight_quantization(node, axis));
  if (node.has_input(kBiasInput)) ITG_TRY(check_constant(node, kBiasInput, DType::kS32, channels));
  const Requantization& requantization = node.options<Requantization>();
  ITG_TRY(check_length(node, requantization.multiplier.size, channels));
  ITG_TRY(check_length(node, requantization.folded_bias.size, channels));
  if (node.weights_checked) return kNoError;
  const Span<const float> scales = node.input(kWeightInput).quantization.scales;
  const float in_scale = node.input(0).quantization.scales[0];
  for (size_t c = 0; c < requantization.multiplier.size; ++c) {
    const float product = in_scale * scales[scales.size == 1 ? 0 : c];
    if (!same_bits(requantization.multiplier[c], product / out_scale))
      return node.error(Status::kBadMultiplier, static_cast<int64_t>(c));
  }
  return check_sums<kIsWide>(node, channel_view(shape, axis));
}

}  // namespace

Error check_weights_s8(const NodeView& node, int32_t axis, float out_scale) {
  return check_weights<false>(node, axis, out_scale);
}

Error check_weights_f32(const NodeView& node, int32_t axis) {
  const Shape shape = node.input_shape(kWeightInput);
  ITG_TRY(check_constant(node, kWeightInput, DType::kF32, shape.elements(0, shape.rank)));
  if (node.has_input(kBiasInput)) ITG_TRY(check_constant(node, kBiasInput, DType::kF32, shape[axis]));
  if (node.weights_checked) return kNoError;
  ITG_TRY(check_finite(node, kWeightInput, channel_view(shape, axis)));
  return node.has_input(kBiasInput) ? check_finite(node, kBiasInput, {1, shape[axis], 1}) : kNoError;
}

Error check_residual_s8(const NodeView& node) {
  ITG_TRY(check_input_s8(node, kResidualInput));
  ITG_TRY(check_residual_shape(node));
  const Conv2dOptions& o = node.options<Conv2dOptions>();
  if (!is_scale(o.intermediate.scale)) return node.error(Status::kBadScale);
  if (!is_zero_point(o.intermediate.zero_point))
    return node.error(Status::kBadZeroPoint, o.intermediate.zero_point,
                      o.intermediate.zero_point < 0 ? -128 : 127);
  if (o.add_bits < kAddBits || o.add_bits > kMaxAddBits)
    return node.error(Status::kBadAddBits, o.add_bits, kMaxAddBits);
  const Quantization residual = node.input(kResidualInput).quantization, out = node.output().quantization;
  AddS8 params;
  const bool exact =
      set_add_multipliers(o.intermediate.scale, residual.scales[0], out.scales[0], &params, o.add_bits);
  return exact ? kNoError : node.input_error(Status::kScaleRatio, kResidualInput);
}

Error check_residual_f32(const NodeView& node) {
  ITG_TRY(check_input_dtype(node, kResidualInput, DType::kF32));
  return check_residual_shape(node);
}

Error check_conv_ends_s8(const NodeView& node) {
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  return check_clamp_codes(node);
}

Error check_conv_s8(const NodeView& node, int32_t axis) {
  ITG_TRY(check_conv_ends_s8(node));
  return check_weights_s8(node, axis, node.output().quantization.scales[0]);
}

Error check_conv_s16(const NodeView& node, int32_t axis) {
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_clamp_codes_s16(node));
  return check_weights<true>(node, axis, node.output().quantization.scales[0]);
}

Error check_conv_s8_f32(const NodeView& node, int32_t axis) {
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_clamp_reals(node));
  return check_weights_s8(node, axis, 1.0f);
}

Error check_conv_f32(const NodeView& node, int32_t axis, bool residual_allowed) {
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_clamp_reals(node));
  if (residual_allowed && node.has_input(kResidualInput)) ITG_TRY(check_residual_f32(node));
  return check_weights_f32(node, axis);
}

}  // namespace intaglio
