// Elements of one axis by an index each: y[.., i, ..] = x[.., index[.., i, ..], ..]. Indices are of s32, constants or
// not; one that does not exist is the nearest that does (checks.h).
#include <cstring>

#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error check_elements(const NodeView& node) {
  const Shape in = node.input_shape(0), indices = node.input_shape(1);
  const int32_t axis = node.options<GatherOptions>().axis;
  if (axis < 0 || axis >= in.rank) return node.error(Status::kBadAxis, axis, in.rank);
  ITG_TRY(check_input_dtype(node, 1, DType::kS32));
  ITG_TRY(check_input_rank(node, 1, in.rank));
  for (int32_t i = 0; i < in.rank; ++i)
    if (i != axis && indices[i] != in[i])
      return node.input_error(Status::kShapeMismatch, 1, indices[i], in[i]);
  return check_output_shape(node, indices);
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  return check_elements(node);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  return check_elements(node);
}

// Rows of the axis, `inner` of which lie side by side.
void run_any(const NodeView& node, const NodeRun& run) {
  const TensorInfo in = node.input(0);
  const Shape out = node.output_shape();
  const int32_t axis = node.options<GatherOptions>().axis;
  const size_t element = element_bytes(in.dtype);
  const auto inner = static_cast<size_t>(in.shape.elements(axis + 1, in.shape.rank));
  const int32_t dim = in.shape[axis], count = out[axis];
  const auto* const index = run.input<int32_t>(node, 1);
  const auto* const x = run.input<uint8_t>(node, 0);
  auto* const y = run.output<uint8_t>(node);
  for_pieces(*run.executor, out.elements(), 4, [&](int32_t first, int32_t some) {
    for (size_t i = static_cast<size_t>(first); i < static_cast<size_t>(first) + static_cast<size_t>(some);
         ++i) {
      const size_t outer = i / inner / static_cast<size_t>(count);
      const auto row = static_cast<size_t>(index_on_axis(index[i], dim));
      const size_t from = (outer * static_cast<size_t>(dim) + row) * inner + i % inner;
      memcpy(y + i * element, x + from * element, element);
    }
  });
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  rule.index_input = 1;
  return rule;
}

}  // namespace

extern const OpRun kGatherElementsS8Run, kGatherElementsF32Run;
const OpRun kGatherElementsS8Run = {run_any}, kGatherElementsF32Run = {run_any};

extern const OpDef kGatherElementsS8, kGatherElementsF32;
const OpDef kGatherElementsS8 = {Op::kGatherElements,   DType::kS8, -1, quant_rule(), plan_s8, nullptr,
                                 &kGatherElementsS8Run, nullptr};
const OpDef kGatherElementsF32 = {Op::kGatherElements,    DType::kF32, -1, quant_rule(), plan_f32, nullptr,
                                  &kGatherElementsF32Run, nullptr};

}  // namespace intaglio
