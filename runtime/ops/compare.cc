// Comparisons of two tensors, each repeated where it is smaller. Truth is a number: 1 is true, 0 is not.
#include "kernels/eltwise/eltwise_f32.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_input_dtype(node, 1, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  return check_broadcast_shapes(node);
}

void run_rows(const NodeView& node, const NodeRun& run, CompareRowsF32* compare, CompareRowsF32* swapped) {
  for_each_operand_rows<float>(
      node, run, [&](const float* large, const float* small, float* y, int32_t rows, int32_t n, bool swap) {
        (swap ? swapped : compare)(large, small, y, rows, n);
      });
}

void run_equal(const NodeView& node, const NodeRun& run) {
  run_rows(node, run, equal_rows_f32, equal_rows_f32);
}
void run_less(const NodeView& node, const NodeRun& run) {
  run_rows(node, run, less_rows_f32, less_from_rows_f32);
}
void run_less_or_equal(const NodeView& node, const NodeRun& run) {
  run_rows(node, run, less_equal_rows_f32, less_equal_from_rows_f32);
}

constexpr OpDef define(Op op, const OpRun* op_run) {
  QuantRule rule;
  rule.sign = SignRule::kNonNegative;
  return {op, DType::kF32, 0, rule, plan, nullptr, op_run, nullptr};
}

}  // namespace

extern const OpRun kEqualF32Run, kLessF32Run, kLessOrEqualF32Run;
const OpRun kEqualF32Run = {run_equal}, kLessF32Run = {run_less}, kLessOrEqualF32Run = {run_less_or_equal};

extern const OpDef kEqualF32, kLessF32, kLessOrEqualF32;
const OpDef kEqualF32 = define(Op::kEqual, &kEqualF32Run);
const OpDef kLessF32 = define(Op::kLess, &kLessF32Run);
const OpDef kLessOrEqualF32 = define(Op::kLessOrEqual, &kLessOrEqualF32Run);

}  // namespace intaglio
