// Slices of one axis, by a list of indices. The indices' axes stand in that axis's place. Constant indices lie within
// the axis. Those that a run computes may be any number: see checks.h.
#include <cstring>

#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error check_gather(const NodeView& node) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  const int32_t axis = node.options<GatherOptions>().axis;
  if (axis < 0 || axis >= in.rank) return node.error(Status::kBadAxis, axis, in.rank);
  const Shape indices = node.input_shape(1);
  ITG_TRY(check_input_dtype(node, 1, DType::kS32));
  ITG_TRY(check_output_rank(node, in.rank - 1 + indices.rank));
  for (int32_t i = 0; i < out.rank; ++i) {
    const int32_t behind = i - indices.rank + 1;
    const int32_t expected = i < axis ? in[i] : (behind <= axis ? indices[i - axis] : in[behind]);
    if (out[i] != expected) return node.output_error(Status::kShapeMismatch, 0, out[i], expected);
  }
  if (!node.input(1).is_constant()) return kNoError;
  const auto* const index = reinterpret_cast<const int32_t*>(node.input(1).constant.data);
  for (int64_t i = 0; i < indices.elements(); ++i)
    if (index[i] < 0 || index[i] >= in[axis])
      return node.input_error(Status::kBadIndex, 1, index[i], in[axis]);
  return kNoError;
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  return check_gather(node);
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_same_quantization(node));
  return check_gather(node);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  return check_gather(node);
}

void run_any(const NodeView& node, const NodeRun& run) {
  const TensorInfo in = node.input(0);
  const int32_t axis = node.options<GatherOptions>().axis;
  const auto outer = static_cast<int32_t>(in.shape.elements(0, axis));
  const size_t piece =
      static_cast<size_t>(in.shape.elements(axis + 1, in.shape.rank)) * element_bytes(in.dtype);
  const auto count = static_cast<int32_t>(node.input_shape(1).elements());
  const int32_t dim = in.shape[axis];
  const auto* const index = run.input<int32_t>(node, 1);
  const auto* const x = run.input<uint8_t>(node, 0);
  auto* const y = run.output<uint8_t>(node);
  const auto gather = [&](auto move) {
    for_pieces(*run.executor, int64_t{outer} * count, static_cast<int64_t>(piece),
               [&](int32_t first, int32_t some) {
                 const size_t slice = static_cast<size_t>(dim) * piece;
                 const uint8_t* from = x + static_cast<size_t>(first / count) * slice;
                 uint8_t* to = y + static_cast<size_t>(first) * piece;
                 int32_t at = first % count;
                 for (int32_t i = 0; i < some; ++i, to += piece) {
                   move(to, from + static_cast<size_t>(index_on_axis(index[at], dim)) * piece);
                   if (++at < count) continue;
                   at = 0;
                   from += slice;
                 }
               });
  };
  // A call of memcpy costs more than the move of a few bytes.
  if (kPacksWeights && piece == 1)
    gather([](uint8_t* to, const uint8_t* from) { *to = *from; });
  else if (kPacksWeights && piece == 4)
    gather([](uint8_t* to, const uint8_t* from) { memcpy(to, from, 4); });
  else
    gather([piece](uint8_t* to, const uint8_t* from) { memcpy(to, from, piece); });
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  rule.index_input = 1;
  return rule;
}

}  // namespace

extern const OpRun kGatherS8Run, kGatherS16Run, kGatherF32Run;
const OpRun kGatherS8Run = {run_any}, kGatherS16Run = {run_any}, kGatherF32Run = {run_any};

extern const OpDef kGatherS8, kGatherS16, kGatherF32;
const OpDef kGatherS8 = {Op::kGather, DType::kS8, -1, quant_rule(), plan_s8, nullptr, &kGatherS8Run, nullptr};
const OpDef kGatherS16 = {Op::kGather, DType::kS16,    -1,     quant_rule(), plan_s16,
                          nullptr,     &kGatherS16Run, nullptr};
const OpDef kGatherF32 = {Op::kGather, DType::kF32,    -1,     quant_rule(), plan_f32,
                          nullptr,     &kGatherF32Run, nullptr};

}  // namespace intaglio
