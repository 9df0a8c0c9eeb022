#include "runtime/ops/checks.h"

#include <limits>

#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

// An error's number for a real one: truncated, and held within int32.
int64_t truncated(float v) {
  if (v != v) return 0;
  v = v > -2147483648.0f ? v : -2147483648.0f;
  return static_cast<int64_t>(v < 2147483648.0f ? v : 2147483648.0f);
}

// kS8 or kS16. A template, so that who has no codes of 16 bits pays nothing for them.
template <DType kCodes>
Error check_codes(const NodeView& node, int32_t tensor) {
  const TensorInfo info = node.model->tensor(tensor);
  const Quantization& q = info.quantization;
  const auto error = [&](Status status, int64_t value = 0, int64_t limit = 0) {
    return Error{status, node.index, tensor, value, limit};
  };
  if (info.dtype != kCodes)
    return error(Status::kBadDType, static_cast<int64_t>(info.dtype), static_cast<int64_t>(kCodes));
  if (q.scales.empty()) return error(Status::kQuantizationMissing);
  if (q.axis != -1) return error(Status::kBadQuantizationAxis, q.axis, -1);
  if (q.scales.size != 1) return error(Status::kScaleCount, static_cast<int64_t>(q.scales.size), 1);
  if (!is_scale(q.scales[0])) return error(Status::kBadScale);
  // Model::open has refused another zero point than 0 of 16 bits.
  if (kCodes == DType::kS8 && !is_zero_point(q.zero_point))
    return error(Status::kBadZeroPoint, q.zero_point, q.zero_point < 0 ? -128 : 127);
  return kNoError;
}

template <int32_t kLowest, int32_t kHighest>
Error check_clamp(const NodeView& node) {
  const Clamp& clamp = node.options<Clamp>();
  if (clamp.lo < kLowest || clamp.hi > kHighest || clamp.lo > clamp.hi)
    return node.error(Status::kBadClamp, clamp.lo, clamp.hi);
  return kNoError;
}

}  // namespace

Error check_counts(const NodeView& node, int32_t min_inputs, int32_t max_inputs) {
  const int32_t count = node.input_count();
  if (count < min_inputs) return node.error(Status::kInputCount, count, min_inputs);
  if (count > max_inputs) return node.error(Status::kInputCount, count, max_inputs);
  for (int32_t i = 0; i < min_inputs; ++i)
    if (!node.has_input(i)) return node.error(Status::kInputMissing, i);
  if (node.output_count() != 1) return node.error(Status::kOutputCount, node.output_count(), 1);
  return kNoError;
}

Error check_input_dtype(const NodeView& node, int32_t i, DType dtype) {
  const DType found = node.input(i).dtype;
  if (found == dtype) return kNoError;
  return node.input_error(Status::kBadDType, i, static_cast<int64_t>(found), static_cast<int64_t>(dtype));
}

Error check_output_dtype(const NodeView& node, DType dtype) {
  const DType found = node.output().dtype;
  if (found == dtype) return kNoError;
  return node.output_error(Status::kBadDType, 0, static_cast<int64_t>(found), static_cast<int64_t>(dtype));
}

Error check_input_rank(const NodeView& node, int32_t i, int32_t rank) {
  const int32_t found = node.input_shape(i).rank;
  return found == rank ? kNoError : node.input_error(Status::kBadRank, i, found, rank);
}

Error check_output_rank(const NodeView& node, int32_t rank) {
  const int32_t found = node.output_shape().rank;
  return found == rank ? kNoError : node.output_error(Status::kBadRank, 0, found, rank);
}

Error check_output_shape(const NodeView& node, const Shape& expected) {
  ITG_TRY(check_output_rank(node, expected.rank));
  const Shape found = node.output_shape();
  for (int32_t i = 0; i < expected.rank; ++i)
    if (found[i] != expected[i]) return node.output_error(Status::kShapeMismatch, 0, found[i], expected[i]);
  return kNoError;
}

Error check_constant(const NodeView& node, int32_t i, DType dtype, int64_t elements) {
  ITG_TRY(check_input_dtype(node, i, dtype));
  const TensorInfo info = node.input(i);
  if (!info.is_constant()) return node.input_error(Status::kConstantExpected, i);
  const int64_t found = info.shape.elements();
  if (found != elements) return node.input_error(Status::kShapeMismatch, i, found, elements);
  return kNoError;
}

Error check_input_s8(const NodeView& node, int32_t i) {
  return check_codes<DType::kS8>(node, node.input_index(i));
}
Error check_output_s8(const NodeView& node) { return check_codes<DType::kS8>(node, node.output_index(0)); }

Error check_input_s16(const NodeView& node, int32_t i) {
  return check_codes<DType::kS16>(node, node.input_index(i));
}
Error check_output_s16(const NodeView& node) { return check_codes<DType::kS16>(node, node.output_index(0)); }
Error check_ends_s16(const NodeView& node) {
  ITG_TRY(check_input_s16(node, 0));
  return check_output_s16(node);
}

Error check_same_quantization(const NodeView& node) {
  const Quantization in = node.input(0).quantization;
  const Quantization out = node.output().quantization;
  if (in.scales[0] != out.scales[0] || in.zero_point != out.zero_point)
    return node.output_error(Status::kQuantizationMismatch, 0, out.zero_point, in.zero_point);
  return kNoError;
}

Error check_move_s16(const NodeView& node) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_ends_s16(node));
  return check_same_quantization(node);
}

Error check_clamp_codes(const NodeView& node) { return check_clamp<-128, 127>(node); }
Error check_clamp_codes_s16(const NodeView& node) { return check_clamp<-32768, 32767>(node); }

Error check_clamp_reals(const NodeView& node) {
  const Clamp& clamp = node.options<Clamp>();
  if (!(clamp.min <= clamp.max))  // also where one is NaN
    return node.error(Status::kBadClamp, truncated(clamp.min), truncated(clamp.max));
  return kNoError;
}

Error check_no_clamp(const NodeView& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Clamp& clamp = node.options<Clamp>();
  if (clamp.min == -kInfinity && clamp.max == kInfinity) return kNoError;
  return node.error(Status::kBadClamp, truncated(clamp.min), truncated(clamp.max));
}

Error check_unary(const NodeView& node) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  const auto o = node.info.options.value<UnaryOptions>();
  if (!is_finite(o.alpha)) return node.error(Status::kBadAttribute, 0);
  return is_finite(o.beta) ? kNoError : node.error(Status::kBadAttribute, 1);
}

Error check_sum_s8(const NodeView& node, int64_t terms) {
  constexpr int64_t kMaxTerms = INT32_MAX / 255;
  return terms > kMaxTerms ? node.error(Status::kAccumulatorOverflow, 0, kMaxTerms) : kNoError;
}
Error check_sum_s16(const NodeView& node, int64_t terms) {
  constexpr int64_t kMaxTerms = INT32_MAX / 32768;  // the zero point is 0
  return terms > kMaxTerms ? node.error(Status::kAccumulatorOverflow, 0, kMaxTerms) : kNoError;
}

}  // namespace intaglio
