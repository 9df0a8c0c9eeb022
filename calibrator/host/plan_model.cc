#include "calibrator/host/plan_model.h"

#include <algorithm>
#include <cstring>

#include "intaglio/streaming.h"
#include "intaglio/two_memories.h"
#include "runtime/crc32.h"
#include "runtime/op_search.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

size_t align_up(size_t bytes, size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// The instruction set in a kernel's name, <family>_<dtype>_<isa>.
IsaMask isa_of(const std::string& kernel) {
  for (const IsaName& isa : kIsaNames)
    if (kernel.substr(kernel.rfind('_') + 1) == isa.name) return isa.bit;
  return isa::kAll;
}

// The number, in the lists of a build that has the kernels `listed` and the scalar ones, of a kernel that has
// number `kernel` here, where every kernel is listed.
uint16_t number_there(const OpDef& def, uint16_t kernel, IsaMask listed) {
  if (def.kernel_name == nullptr || listed == isa::kAll) return kernel;
  const auto first = static_cast<uint16_t>(kernel / kFamilyNumbers * kFamilyNumbers);
  uint16_t number = first;
  for (uint16_t k = first; k < kernel; ++k)
    if ((isa_of(def.kernel_name(k)) & ~listed) == 0) ++number;
  return number;
}

struct NodeChoice {
  NodeView view;
  const OpDef* def;
  NodePlan plan;
};

// As target.streamed says.
Result<Model> open_plan(const Model& model, const PlanTarget& target) {
  return target.streamed ? stream_rows(model) : Result<Model>(model);
}

// The choices for a model from open_plan(), which outlives them.
Result<std::vector<NodeChoice>> choose(const Model& model, const PlanTarget& target) {
  PlanContext context;
  context.isa = target.kernels();
  std::vector<NodeChoice> choices;
  for (int32_t i = 0; i < model.node_count(); ++i) {
    NodeChoice choice = {{i, model.node(i), &model}, find_op(all_ops(), model, model.node(i)), {}};
    if (choice.def == nullptr)
      return choice.view.error(Status::kOperatorMissing, static_cast<int64_t>(choice.view.info.op));
    const Streaming* const streaming = StreamedModel::streaming(model);
    ITG_TRY(streaming != nullptr ? streaming->plan_node(*choice.def, choice.view, context, &choice.plan)
                                 : choice.def->plan(choice.view, context, &choice.plan));
    choices.push_back(choice);
  }
  return choices;
}

SessionNeeds needs_of(const Model& model, const std::vector<NodeChoice>& choices) {
  SessionNeeds needs;
  for (int32_t i = 0; i < model.state_count(); ++i)
    needs.persistent_bytes += align_up(model.tensor(model.state(i).input).bytes(), kTensorAlignment);
  needs.activation_bytes = model.activation_bytes();
  for (const NodeChoice& choice : choices)
    needs.scratch_bytes = std::max<size_t>(needs.scratch_bytes, choice.plan.scratch_bytes);
  return needs;
}

// All that Session::create checks, packs but for those of another kernel included.
Error check_all(const Model& model) {
  for (const IsaMask isa : {isa::kScalar, isa::kAll}) {
    SessionOptions options;
    options.isa = isa;
    const Result<SessionNeeds> needs = Session::measure_anywhere(model, all_ops(), options);
    if (!needs) return needs.error();
    FileBytes memory(needs->total());
    const Result<Session> session =
        Session::create(model, all_ops(), Session::split({memory.data(), memory.size()}, *needs), options);
    if (!session) return session.error();
  }
  return kNoError;
}

// What kRowsAlone takes, of a model by its streamed plan.
bool runs_rows_alone(const Model& model) {
  for (int32_t i = 0; i < StreamedModel::segment_count(model); ++i) {
    const SegmentInfo segment = StreamedModel::segment(model, i);
    const RowWalk walk = walk_of(segment, 0);
    if (segment.count != 1 || segment.picture_rows != 0 || walk.stride != 1 || walk.lead != 0 ||
        walk.rows != 0 || model.node(segment.first).op == Op::kPad)
      return false;
  }
  return true;
}

}  // namespace

IsaMask PlanTarget::kernels() const {
  if (!cortex_m) return isa;
  IsaMask best = isa;
  while ((best & (best - 1)) != 0) best &= best - 1;
  return best;
}

Result<SessionNeeds> measure_planned(const Model& model, const PlanTarget& target) {
  const Result<Model> opened = open_plan(model, target);
  if (!opened) return opened.error();
  const auto choices = choose(*opened, target);
  if (!choices) return choices.error();
  return needs_of(*opened, *choices);
}

Result<ModelPlan> plan_model(const Model& model, const PlanTarget& target) {
  const Result<Model> opened = open_plan(model, target);
  if (!opened) return opened.error();
  ITG_TRY(check_all(*opened));
  ITG_TRY(TwoMemories::check(*opened));
  const auto choices = choose(*opened, target);
  if (!choices) return choices.error();
  ModelPlan plan;
  plan.streamed = target.streamed && model.has_streamed_plan();
  plan.rows_alone = plan.streamed && runs_rows_alone(*opened);
  plan.isa = target.kernels();
  plan.listed = target.cortex_m ? plan.isa : isa::kAll;
  plan.needs = needs_of(*opened, *choices);
  plan.crc32 = crc32(0, model.bytes().data, model.bytes().size);
  size_t prepared_bytes = 0;
  for (const OpDef* const op : all_ops()) {
    const bool used = std::any_of(choices->begin(), choices->end(),
                                  [op](const NodeChoice& choice) { return choice.def == op; });
    if (used) plan.ops.push_back(op);
  }
  for (const NodeChoice& choice : *choices) {
    const auto op = std::find(plan.ops.begin(), plan.ops.end(), choice.def) - plan.ops.begin();
    plan.nodes.push_back({static_cast<uint32_t>(prepared_bytes),
                          number_there(*choice.def, choice.plan.kernel, plan.listed),
                          static_cast<uint16_t>(op)});
    prepared_bytes += align_up(choice.plan.persistent_bytes, kMemoryAlignment);
  }
  constexpr size_t kMaxPrepared = (size_t{1} << 31) - 1;
  if (prepared_bytes > kMaxPrepared)
    return Error{Status::kTensorTooLarge, -1, -1, static_cast<int64_t>(prepared_bytes), kMaxPrepared};
  if (prepared_bytes == 0) return plan;
  plan.prepared = FileBytes(prepared_bytes);
  memset(plan.prepared.data(), 0, prepared_bytes);
  for (size_t i = 0; i < choices->size(); ++i) {
    const NodeChoice& choice = (*choices)[i];
    if (choice.plan.persistent_bytes > 0)
      choice.def->prepare(choice.view, choice.plan.kernel,
                          plan.prepared.data() + plan.nodes[i].prepared_offset);
  }
  return plan;
}

PlannedModel ModelPlan::planned(const Model& model, std::vector<const OpRun*>& runs) const {
  runs.clear();
  for (const OpDef* const op : ops) runs.push_back(op->run);
  PlannedModel planned;
  planned.model = model.bytes();
  planned.crc32 = crc32;
  planned.nodes = {nodes.data(), nodes.size()};
  planned.ops = {runs.data(), runs.size()};
  planned.prepared = prepared.data();
  planned.needs = needs;
  planned.isa = isa;
  planned.listed = listed;
  if (streamed) planned.streaming = rows_alone ? &kRowsAlone : &kStreaming;
  return planned;
}

}  // namespace intaglio
