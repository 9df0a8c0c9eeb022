// Any unary function of an int8 tensor, as a table of 256 codes baked into the model.
#include "kernels/eltwise_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_constant(node, 1, DType::kS8, 256));
  return check_output_shape(node, node.input(0).shape);
}

void run(const NodeView& node, const NodeRun& run) {
  const auto* const x = run.input<int8_t>(node, 0);
  const auto* const table = run.input<int8_t>(node, 1);
  auto* const y = run.output<int8_t>(node);
  for_pieces(*run.executor, node.output().shape.elements(), kPieceWork,
             [&](int32_t first, int32_t count) { lookup_s8(x + first, table, y + first, count); });
}

}  // namespace

extern const OpDef kLookupS8;
const OpDef kLookupS8 = {Op::kLookup, DType::kS8, 0, {}, plan, nullptr, run, nullptr};

}  // namespace intaglio
