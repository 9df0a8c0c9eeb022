// Any unary function of an int16 tensor: a table of 513 codes baked into the model, with straight lines between them.
#include "kernels/eltwise/codes_s16.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_constant(node, 1, DType::kS16, kTableS16));
  plan->kernel = static_cast<uint16_t>(codes_s16_select(context.isa));
  return check_output_shape(node, node.input_shape(0));
}

void run(const NodeView& node, const NodeRun& run) {
  const auto* const x = run.input<int16_t>(node, 0);
  const auto* const table = run.input<int16_t>(node, 1);
  auto* const y = run.output<int16_t>(node);
  const auto lookup = codes_s16_kernel(run.kernel).lookup;
  for_pieces(*run.executor, node.output_shape().elements(), 1,
             [&](int32_t first, int32_t count) { lookup(x + first, table, y + first, count); });
}

const char* kernel_name(uint16_t kernel) { return codes_s16_kernel(kernel).name; }

}  // namespace

extern const OpRun kLookupS16Run;
const OpRun kLookupS16Run = {run};

extern const OpDef kLookupS16;
const OpDef kLookupS16 = {Op::kLookup, DType::kS16, 0, {}, plan, nullptr, &kLookupS16Run, kernel_name};

}  // namespace intaglio
