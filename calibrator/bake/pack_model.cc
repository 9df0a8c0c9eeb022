#include "calibrator/bake/pack_model.h"

#include "calibrator/bake/model_writer.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

// Such nodes take other kernels (runtime/streaming/streaming.cc).
bool runs_by_rows(const Graph& graph, int32_t node) {
  bool found = false;
  for (const GraphSegment& s : graph.streamed.segments)
    found = found || (node >= s.first && node - s.first < static_cast<int32_t>(s.strides.size));
  return found;
}

// Adds what the operator's prepare() makes for its kernel of choice.
Error add_pack(const Model& model, OpList ops, int32_t index, const PlanContext& context, Graph& graph,
               Arena& arena) {
  const NodeView node = {index, model.node(index), &model};
  const OpDef* const def = find_op(ops, model, node.info);
  if (def == nullptr) return node.error(Status::kOperatorMissing, static_cast<int64_t>(node.info.op));
  const bool writes_codes = def->dtype == DType::kS8 || def->dtype == DType::kS16;
  if (!writes_codes || def->quant.weight_input < 0 || def->kernel_name == nullptr) return kNoError;
  NodePlan plan;
  plan.kernel = runs_by_rows(graph, index) ? kRunsByRows : uint16_t{0};
  ITG_TRY(def->plan(node, context, &plan));
  if (plan.kernel == kRunsByRows) plan.kernel = 0;  // of an operator with one kernel
  if (plan.persistent_bytes == 0) return kNoError;
  auto* const place = static_cast<uint8_t*>(arena.allocate(plan.persistent_bytes, kMemoryAlignment));
  if (place == nullptr)
    return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(arena.left()), plan.persistent_bytes};
  memset(place, 0, plan.persistent_bytes);  // between its pieces, too
  def->prepare(node, plan.kernel, place);
  graph.packs.push(arena, {index, def->kernel_name(plan.kernel), {place, plan.persistent_bytes}});
  return kNoError;
}

}  // namespace

Result<Span<const uint8_t>> pack_model(const Model& model, OpList ops, IsaMask isa, Arena& arena) {
  Graph graph = graph_of(model, arena);
  ITG_TRY(copy_plans(model, graph, arena));
  PlanContext context;
  context.isa = isa;
  for (int32_t i = 0; i < model.node_count(); ++i) ITG_TRY(add_pack(model, ops, i, context, graph, arena));
  if (arena.exhausted()) return Error{Status::kOutOfMemory};
  return write_model(graph, arena);
}

}  // namespace intaglio
