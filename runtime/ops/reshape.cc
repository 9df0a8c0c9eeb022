// The same elements in the same order under another shape.
#include <cstring>

#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

Error check_elements(const NodeView& node) {
  const int64_t expected = node.input_shape(0).elements(), found = node.output_shape().elements();
  return found == expected ? kNoError : node.output_error(Status::kShapeMismatch, 0, found, expected);
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  return check_elements(node);
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_move_s16(node));
  return check_elements(node);
}

// FP32 or s32.
Error plan_plain(const NodeView& node, DType dtype) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, dtype));
  ITG_TRY(check_output_dtype(node, dtype));
  return check_elements(node);
}
Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) { return plan_plain(node, DType::kF32); }
Error plan_s32(const NodeView& node, const PlanContext&, NodePlan*) { return plan_plain(node, DType::kS32); }

void run_any(const NodeView& node, const NodeRun& run) {
  const auto* const x = run.input<uint8_t>(node, 0);
  auto* const y = run.output<uint8_t>(node);
  if (x != y) memcpy(y, x, node.output().bytes());
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  rule.channels = ChannelRule::kShifts;
  return rule;
}

}  // namespace

extern const OpRun kReshapeS8Run, kReshapeS16Run, kReshapeF32Run, kReshapeS32Run;
const OpRun kReshapeS8Run = {run_any}, kReshapeS16Run = {run_any}, kReshapeF32Run = {run_any},
            kReshapeS32Run = {run_any};

extern const OpDef kReshapeS8, kReshapeS16, kReshapeF32, kReshapeS32;
const OpDef kReshapeS32 = {Op::kReshape, DType::kS32,     0,      quant_rule(), plan_s32,
                           nullptr,      &kReshapeS32Run, nullptr};
const OpDef kReshapeS8 = {Op::kReshape, DType::kS8,     0,      quant_rule(), plan_s8,
                          nullptr,      &kReshapeS8Run, nullptr};
const OpDef kReshapeS16 = {Op::kReshape, DType::kS16,     0,      quant_rule(), plan_s16,
                           nullptr,      &kReshapeS16Run, nullptr};
const OpDef kReshapeF32 = {Op::kReshape, DType::kF32,     0,      quant_rule(), plan_f32,
                           nullptr,      &kReshapeF32Run, nullptr};

}  // namespace intaglio
