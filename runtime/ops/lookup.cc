// Any unary function of an int8 tensor, as a table of 256 codes baked into the model: one for all elements,
// or one for each index of the last axis.
#include "kernels/eltwise/eltwise_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

constexpr int32_t kEntries = 256;

bool has_one_table(const NodeView& node) { return node.input_shape(1).elements() == kEntries; }

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  plan->kernel = static_cast<uint16_t>(eltwise_s8_select(context.isa));
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  if (node.input_shape(1).rank == 2 && !has_one_table(node)) {
    const Shape tables = node.input_shape(1);
    const int32_t channels = node.input_shape(0).back(0);
    if (tables[0] != channels) return node.input_error(Status::kShapeMismatch, 1, tables[0], channels);
    ITG_TRY(check_constant(node, 1, DType::kS8, int64_t{kEntries} * channels));
  } else {
    ITG_TRY(check_constant(node, 1, DType::kS8, kEntries));
  }
  return check_output_shape(node, node.input_shape(0));
}

void run(const NodeView& node, const NodeRun& run) {
  const auto* const x = run.input<int8_t>(node, 0);
  const auto* const table = run.input<int8_t>(node, 1);
  auto* const y = run.output<int8_t>(node);
  const Shape shape = node.output_shape();
  if (has_one_table(node)) {
    const auto lookup = eltwise_s8_kernel(run.kernel).lookup;
    for_pieces(*run.executor, shape.elements(), 1,
               [&](int32_t first, int32_t count) { lookup(x + first, table, y + first, count); });
    return;
  }
  const int32_t channels = shape.back(0);
  for_pieces(*run.executor, shape.elements() / channels, channels, [&](int32_t first, int32_t rows) {
    const ptrdiff_t offset = static_cast<ptrdiff_t>(first) * channels;
    lookup_rows_s8(x + offset, table, y + offset, rows, channels);
  });
}

const char* kernel_name(uint16_t kernel) { return eltwise_s8_kernel(kernel).name; }

}  // namespace

extern const OpRun kLookupS8Run;
const OpRun kLookupS8Run = {run};

extern const OpDef kLookupS8;
const OpDef kLookupS8 = {Op::kLookup, DType::kS8, 0, {}, plan, nullptr, &kLookupS8Run, kernel_name};

}  // namespace intaglio
