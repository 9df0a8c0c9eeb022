// A function of its own for each group of channels of an int8 tensor, as tables [groups, 256]. A third input [channels] says
// which group a channel is in.
#include "kernels/eltwise/eltwise_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

constexpr int32_t kEntries = 256;

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 3, 3));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  const Shape shape = node.input_shape(0), tables = node.input_shape(1);
  if (shape.rank == 0) return node.input_error(Status::kBadRank, 0, 0, 1);
  if (tables.rank != 2) return node.input_error(Status::kBadRank, 1, tables.rank, 2);
  if (tables[0] > kMostGroupsS8) return node.input_error(Status::kTooManyItems, 1, tables[0], kMostGroupsS8);
  const int32_t channels = shape.back(0);
  ITG_TRY(check_constant(node, 1, DType::kS8, int64_t{kEntries} * tables[0]));
  ITG_TRY(check_constant(node, 2, DType::kS8, channels));
  const auto* const groups = reinterpret_cast<const int8_t*>(node.input(2).constant.data);
  for (int32_t c = 0; c < channels; ++c)
    if (groups[c] < 0 || groups[c] >= tables[0])
      return node.input_error(Status::kBadIndex, 2, groups[c], tables[0]);
  plan->kernel = static_cast<uint16_t>(grouped_lookup_s8_select(context.isa));
  return check_output_shape(node, shape);
}

void run(const NodeView& node, const NodeRun& run) {
  const auto* const x = run.input<int8_t>(node, 0);
  const auto* const tables = run.input<int8_t>(node, 1);
  const auto* const groups = run.input<int8_t>(node, 2);
  auto* const y = run.output<int8_t>(node);
  const Shape shape = node.output_shape();
  const int32_t channels = shape.back(0);
  const auto lookup = grouped_lookup_s8_kernel(run.kernel).lookup;
  for_pieces(*run.executor, shape.elements() / channels, channels, [&](int32_t first, int32_t rows) {
    const ptrdiff_t offset = static_cast<ptrdiff_t>(first) * channels;
    lookup({x + offset, tables, groups, y + offset, rows, channels, node.input_shape(1)[0]});
  });
}

const char* kernel_name(uint16_t kernel) { return grouped_lookup_s8_kernel(kernel).name; }

}  // namespace

extern const OpRun kGroupedLookupS8Run;
const OpRun kGroupedLookupS8Run = {run};

extern const OpDef kGroupedLookupS8;
const OpDef kGroupedLookupS8 = {Op::kGroupedLookup,   DType::kS8, 0, {}, plan, nullptr,
                                &kGroupedLookupS8Run, kernel_name};

}  // namespace intaglio
