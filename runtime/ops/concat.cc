// Tensors side by side along one axis.
#include "kernels/copy/strided_copy.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

constexpr int32_t kMaxInputs = 64;  // as model_check.cc bounds any node's

Error check_shapes(const NodeView& node) {
  const Shape out = node.output_shape();
  const int32_t axis = node.options<ConcatOptions>().axis;
  if (axis < 0 || axis >= out.rank) return node.error(Status::kBadAxis, axis, out.rank);
  int64_t sum = 0;
  for (int32_t i = 0; i < node.input_count(); ++i) {
    const Shape in = node.input_shape(i);
    if (in.rank != out.rank) return node.input_error(Status::kBadRank, i, in.rank, out.rank);
    for (int32_t d = 0; d < in.rank; ++d)
      if (d != axis && in[d] != out[d]) return node.input_error(Status::kShapeMismatch, i, in[d], out[d]);
    sum += in[axis];
  }
  return sum == out[axis] ? kNoError : node.output_error(Status::kShapeMismatch, 0, out[axis], sum);
}

Error check_inputs(const NodeView& node) {
  ITG_TRY(check_counts(node, 1, kMaxInputs));
  for (int32_t i = 1; i < node.input_count(); ++i)
    if (!node.has_input(i)) return node.error(Status::kInputMissing, i);
  return kNoError;
}

// In codes of 8 or 16 bits.
template <Error (*check_input)(const NodeView& node, int32_t i)>
Error plan_codes(const NodeView& node) {
  const Quantization out = node.output().quantization;
  for (int32_t i = 0; i < node.input_count(); ++i) {
    ITG_TRY(check_input(node, i));
    const Quantization in = node.input(i).quantization;
    if (in.scales[0] != out.scales[0] || in.zero_point != out.zero_point)
      return node.input_error(Status::kQuantizationMismatch, i, in.zero_point, out.zero_point);
  }
  return check_shapes(node);
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_inputs(node));
  ITG_TRY(check_output_s8(node));
  return plan_codes<check_input_s8>(node);
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_inputs(node));
  ITG_TRY(check_output_s16(node));
  return plan_codes<check_input_s16>(node);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_inputs(node));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  for (int32_t i = 0; i < node.input_count(); ++i) ITG_TRY(check_input_dtype(node, i, DType::kF32));
  return check_shapes(node);
}

// Everything behind the axis is one piece of bytes.
void run_any(const NodeView& node, const NodeRun& run) {
  const TensorInfo out = node.output();
  const int32_t axis = node.options<ConcatOptions>().axis;
  const auto outer = static_cast<int32_t>(out.shape.elements(0, axis));
  const auto out_bytes = static_cast<int32_t>(out.bytes()) / outer;
  auto* y = run.output<uint8_t>(node);
  for (int32_t i = 0; i < node.input_count(); ++i) {
    const auto bytes = static_cast<int32_t>(node.input(i).bytes()) / outer;
    const auto* const x = run.input<uint8_t>(node, i);
    // A thread's share is some of the pieces, or some of the only one.
    const bool is_one = outer == 1;
    const int32_t x_row = is_one ? 1 : bytes, y_row = is_one ? 1 : out_bytes;
    for_pieces(*run.executor, is_one ? bytes : outer, x_row, [&](int32_t first, int32_t count) {
      copy_rows(x + ptrdiff_t{first} * x_row, y + ptrdiff_t{first} * y_row, is_one ? 1 : count,
                is_one ? count : bytes, x_row, y_row);
    });
    y += bytes;
  }
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.inputs_as_output = true;
  rule.sign = SignRule::kKeeps;
  return rule;
}

}  // namespace

extern const OpRun kConcatS8Run, kConcatS16Run, kConcatF32Run;
const OpRun kConcatS8Run = {run_any}, kConcatS16Run = {run_any}, kConcatF32Run = {run_any};

extern const OpDef kConcatS8, kConcatS16, kConcatF32;
const OpDef kConcatS8 = {Op::kConcat, DType::kS8, -1, quant_rule(), plan_s8, nullptr, &kConcatS8Run, nullptr};
const OpDef kConcatS16 = {Op::kConcat, DType::kS16,    -1,     quant_rule(), plan_s16,
                          nullptr,     &kConcatS16Run, nullptr};
const OpDef kConcatF32 = {Op::kConcat, DType::kF32,    -1,     quant_rule(), plan_f32,
                          nullptr,     &kConcatF32Run, nullptr};

}  // namespace intaglio
