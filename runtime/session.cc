// A session: the three spans of its memory, what its nodes keep, and its runs.
#include "intaglio/session.h"

#include <cstring>

#include "intaglio/planned_model.h"
#include "kernels/compiled_isa.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

uint64_t align_up(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

uint64_t total_of(uint64_t persistent, uint64_t activations, uint64_t scratch) {
  return align_up(persistent, kMemoryAlignment) + align_up(activations, kMemoryAlignment) + scratch;
}

// The bytes that a session takes of one span: the bytes that it needs, apart from those that it took before.
bool take_span(const SessionMemory& taken, Span<uint8_t> given, size_t needed, Span<uint8_t>* to,
               Error* error) {
  if (needed == 0) return true;
  const auto start = reinterpret_cast<uintptr_t>(given.data);
  size_t value = start == 0 ? 0 : given.size, limit = needed;
  if (value >= needed) {
    error->status = Status::kMemoryMisaligned;
    value = start % kMemoryAlignment;
    limit = kMemoryAlignment;
    if (value == 0) {
      const auto overlaps = [&](const Span<uint8_t>& other) {
        const auto distance = start - reinterpret_cast<uintptr_t>(other.data);
        return distance < other.size || 0 - distance < needed;
      };
      error->status = Status::kMemoryOverlap;
      if (!overlaps(taken.persistent) && !overlaps(taken.activations)) {
        *to = {given.data, needed};
        return true;
      }
    }
  }
  error->value = static_cast<int64_t>(value);
  error->limit = static_cast<int64_t>(limit);
  return false;
}

}  // namespace

Error Session::take_memory(const SessionMemory& given, const SessionNeeds& needs, SessionMemory* to) {
  Error error;
  error.status = Status::kPersistentTooSmall;
  if (!take_span(*to, given.persistent, needs.persistent_bytes, &to->persistent, &error)) return error;
  error.status = Status::kActivationsTooSmall;
  if (!take_span(*to, given.activations, needs.activation_bytes, &to->activations, &error)) return error;
  error.status = Status::kScratchTooSmall;
  if (take_span(*to, given.scratch, needs.scratch_bytes, &to->scratch, &error)) error.status = Status::kOk;
  return error;
}

size_t SessionNeeds::total() const {
  return static_cast<size_t>(total_of(persistent_bytes, activation_bytes, scratch_bytes));
}

SessionMemory Session::split(Span<uint8_t> block, const SessionNeeds& needs) {
  // In a block that is too small the last spans are: create() names the first of them.
  const auto part = [&](size_t begin, size_t bytes) -> Span<uint8_t> {
    if (begin >= block.size) return {};
    return {block.data + begin, bytes < block.size - begin ? bytes : block.size - begin};
  };
  const auto activations = static_cast<size_t>(align_up(needs.persistent_bytes, kMemoryAlignment));
  const auto scratch = activations + static_cast<size_t>(align_up(needs.activation_bytes, kMemoryAlignment));
  return {part(0, needs.persistent_bytes), part(activations, needs.activation_bytes),
          part(scratch, needs.scratch_bytes)};
}

namespace {

constexpr uint64_t kMaxNeed = uint64_t{1}
                              << 31;  // of one session, so that a size_t of 32 bits holds every sum
constexpr uint32_t kInFile =
    1u << 31;  // an offset in the model's bytes, where the node's weights stand packed
static_assert(sizeof(PlannedNode) == 8);  // so that a host can size any target
static_assert(kMaxModelBytes <= kInFile);

NodeView view_node(const Model& model, int32_t index, bool weights_checked = false) {
  return {index, model.node(index), &model, nullptr, weights_checked};
}

struct PersistentLayout {
  uint64_t states;  // offset of the state tensors' values
  uint64_t packed;  // offset of what the nodes keep
};

uint64_t states_offset(const Model& model) {
  return align_up(sizeof(PlannedNode) * static_cast<uint64_t>(model.node_count()), kMemoryAlignment);
}

// [ PlannedNode a node | state values | what each node keeps, every piece 64-aligned ]
// While create() checks overlaps the room behind the records is its working memory.
PersistentLayout persistent_layout(const Model& model) {
  PersistentLayout layout;
  layout.states = states_offset(model);
  uint64_t end = layout.states;
  for (int32_t i = 0; i < model.state_count(); ++i)
    end += align_up(model.tensor(model.state(i).input).bytes(), kTensorAlignment);
  layout.packed = align_up(end, kMemoryAlignment);
  return layout;
}

// Whether two kernels read the same packed weights: their names are equal, or one is an order of the other (isa::without_order):
// <family>_neona53 of <family>_neon, <family>_neona55 of <family>_neondot. From the first difference on they are then "a53" and "",
// "a55" and "dot". A table of the names costs every program 115 bytes more.
__attribute__((noinline)) bool pack_alike(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  if (*a == *b) return true;
  const char *const order = *a == 'a' ? a : b, *const base = *a == 'a' ? b : a;
  return order[0] == 'a' && order[1] == '5' && (order[2] == '3' ? *base == '\0' : *base == 'd');
}

struct NodeChoice {
  int32_t op = kNoOp;
  NodePlan plan;
  Span<const uint8_t> pack;  // what the model holds in the place of what prepare() would make; empty: nothing
};

// Where a pack of a later layout differs from one of layout 3, its size does, too.
constexpr uint16_t kOldestPackLayout = 3;

// Packed for another kernel, by another layout or not where a kernel may read it: passed over.
Error find_pack(const NodeView& node, const OpDef& def, NodeChoice* choice) {
  const PackInfo pack = node.model->pack(node.index);
  if (pack.data.empty() || pack.layout < kOldestPackLayout || pack.layout > kPackLayout ||
      choice->plan.persistent_bytes == 0 || def.kernel_name == nullptr ||
      reinterpret_cast<uintptr_t>(pack.data.data) % kMemoryAlignment != 0 ||
      !pack_alike(pack.kernel, def.kernel_name(choice->plan.kernel)))
    return kNoError;
  const size_t expected = choice->plan.persistent_bytes;
  if (pack.data.size != expected) {
    if (pack.layout != kPackLayout) return kNoError;
    return node.error(Status::kBadPack,
                      static_cast<int64_t>(pack.data.size < expected ? pack.data.size : expected));
  }
  choice->pack = pack.data;
  return kNoError;
}

// The packed bytes must equal what prepare() makes in `place`, to the byte.
Error check_pack(const NodeView& node, const OpDef& def, const NodeChoice& choice, uint8_t* place) {
  const Span<const uint8_t> pack = choice.pack;
  memset(place, 0, pack.size);
  def.prepare(node, choice.plan.kernel, place);
  if (memcmp(place, pack.data, pack.size) == 0) return kNoError;
  size_t i = 0;
  while (place[i] == pack[i]) ++i;
  return node.error(Status::kBadPack, static_cast<int64_t>(i));
}

Error plan_node(const Model& model, OpList ops, int32_t index, const PlanContext& context,
                bool weights_checked, NodeChoice* choice) {
  const NodeView node = view_node(model, index, weights_checked);
  *choice = NodeChoice();
  choice->op = find_op_index(ops, model, node.info);
  if (choice->op == kNoOp) return node.error(Status::kOperatorMissing, static_cast<int64_t>(node.info.op));
  const OpDef& def = *ops[static_cast<size_t>(choice->op)];
  const Streaming* const streaming = StreamedModel::streaming(model);
  ITG_TRY(streaming == nullptr ? def.plan(node, context, &choice->plan)
                               : streaming->plan_node(def, node, context, &choice->plan));
  return kPacksWeights ? find_pack(node, def, choice) : kNoError;
}

Result<PlanContext> plan_context(const SessionOptions& options, bool for_this_cpu) {
  const int32_t width = options.executor.width;
  if (width < 1 || width > Executor::kMaxWidth)
    return Error{Status::kBadExecutor, -1, -1, width, Executor::kMaxWidth};
  PlanContext context;
  context.isa = for_this_cpu ? options.isa & cpu_isa() & kCompiledIsa : options.isa;
  context.width = options.executor.parallel_for == nullptr ? 1 : width;
  return context;
}

#ifndef NDEBUG
// Debug builds are hostile: what no later node needs is overwritten.
void poison_dead_inputs(const Model& model, const NodeRun& run, const NodeInfo& node, int32_t index) {
  for (const int32_t input : node.inputs) {
    if (input < 0 || model.tensor(input).is_constant() || last_use(model, input, -1) > index) continue;
    bool reused = false;
    for (int32_t n = 0; n <= index; ++n)
      for (const int32_t output : model.node_outputs(n))
        reused = reused || (output != input &&
                            model.activation_offset(output) <
                                model.activation_offset(input) + model.tensor(input).bytes() &&
                            model.activation_offset(input) <
                                model.activation_offset(output) + model.tensor(output).bytes() &&
                            last_use(model, output, n) >= index);
    if (!reused) memset(run.activations + model.activation_offset(input), 0xa5, model.tensor(input).bytes());
  }
}
#endif

// `ceiling`: the most bytes that it may take in all; 0: any.
Result<SessionNeeds> needs_of(const Model& model, OpList ops, const Result<PlanContext>& context,
                              uint32_t ceiling) {
  if (!context) return context.error();
  const PersistentLayout layout = persistent_layout(model);
  SessionNeeds needs;
  uint64_t packed = 0, scratch = 0;
  for (int32_t i = 0; i < model.node_count(); ++i) {
    NodeChoice choice;
    ITG_TRY(plan_node(model, ops, i, *context, false, &choice));
    const uint32_t node_scratch = choice.plan.scratch_bytes;
    scratch = node_scratch > scratch ? node_scratch : scratch;
    if (!kPacksWeights || choice.pack.empty()) {
      packed += align_up(choice.plan.persistent_bytes, kMemoryAlignment);
      needs.packed_bytes += choice.plan.persistent_bytes;
      continue;
    }
    // create() makes it once more to compare: in the activations where they have room.
    needs.in_place_bytes += choice.pack.size;
    if (choice.pack.size > scratch && choice.pack.size > model.activation_bytes())
      scratch = align_up(choice.pack.size, kMemoryAlignment);
  }
  const uint64_t of_check = layout.states + kOverlapBytes * static_cast<uint64_t>(model.tensor_count());
  const uint64_t persistent = layout.packed + packed;
  const uint64_t larger = persistent > of_check ? persistent : of_check;
  const uint64_t all = total_of(larger, model.activation_bytes(), scratch);
  const bool is_bounded = ceiling - 1 < kMaxNeed;  // 0 wraps around
  const uint64_t most = is_bounded ? ceiling : kMaxNeed;
  if (all > most)
    return Error{is_bounded ? Status::kAboveCeiling : Status::kSessionTooLarge, -1, -1,
                 static_cast<int64_t>(all), static_cast<int64_t>(most)};
  needs.persistent_bytes = static_cast<size_t>(larger);
  needs.activation_bytes = model.activation_bytes();
  needs.scratch_bytes = static_cast<size_t>(scratch);
  return needs;
}

}  // namespace

Result<SessionNeeds> Session::measure(const Model& model, OpList ops, const SessionOptions& options,
                                      bool for_this_cpu) {
  return needs_of(model, ops, plan_context(options, for_this_cpu), model.memory_ceiling());
}

Result<SessionNeeds> Session::measure_anywhere(const Model& model, OpList ops, const SessionOptions& options,
                                               bool for_this_cpu) {
  return needs_of(model, ops, plan_context(options, for_this_cpu), 0);
}

Result<Session> Session::create(const Model& model, OpList ops, const SessionMemory& given,
                                const SessionOptions& options) {
  const Result<PlanContext> context = plan_context(options, true);
  Result<Session> made = kNoError;
  Session& session = *made;
  {  // what follows shares its place on the stack
    const Result<SessionNeeds> needs = needs_of(model, ops, context, 0);
    if (!needs) return needs.error();
    ITG_TRY(take_memory(given, *needs, &session.memory_));
  }
  const SessionMemory& memory = session.memory_;
  const PersistentLayout layout = persistent_layout(model);
  auto* const of_check = reinterpret_cast<uint16_t*>(memory.persistent.data + layout.states);
  const Streaming* const streaming = StreamedModel::streaming(model);
  ITG_TRY((streaming == nullptr ? check_overlaps : streaming->check_overlaps)(model, ops, of_check));

  session.model_ = model;
  session.ops_ = ops.data;
  session.op_count_ = static_cast<uint16_t>(ops.size);
  session.options_ = options;
  if (options.executor.parallel_for == nullptr) session.options_.executor.width = 1;
  session.options_.isa = context->isa;
  auto* const records = reinterpret_cast<PlannedNode*>(memory.persistent.data);
  const Observer& observer = options.observer;
  const bool at_once =
      kPacksWeights && options.executor.parallel_for != nullptr && observer.on_packed == nullptr;
  uint64_t offset = layout.packed;
  for (int32_t i = 0; i < model.node_count(); ++i) {
    NodeChoice choice;
    ITG_TRY(plan_node(model, ops, i, *context, true, &choice));  // needs_of() was the first
    const NodePlan& plan = choice.plan;
    records[i] = {static_cast<uint32_t>(offset), plan.kernel, static_cast<uint16_t>(choice.op)};
    const OpDef& def = *ops[static_cast<size_t>(choice.op)];
    if (kPacksWeights && !choice.pack.empty()) {
      const bool room = choice.pack.size <= memory.activations.size;
      ITG_TRY(
          check_pack(view_node(model, i), def, choice, room ? memory.activations.data : memory.scratch.data));
      records[i].prepared_offset = static_cast<uint32_t>(choice.pack.data - model.bytes().data) | kInFile;
      continue;
    }
    if (plan.persistent_bytes > 0 && !at_once) {
      def.prepare(view_node(model, i), plan.kernel, memory.persistent.data + offset);
      if (kPacksWeights && observer.on_packed != nullptr) observer.on_packed(observer.context, i);
    }
    offset += align_up(plan.persistent_bytes, kMemoryAlignment);
  }
  // Each node into bytes of its own.
  if (at_once)
    parallel_for(options.executor, model.node_count(), [&](int32_t i) {
      const uint32_t place = records[i].prepared_offset;
      if (place < kInFile && place < session.kept_end(i, offset))
        ops[records[i].op]->prepare(view_node(model, i), records[i].kernel, memory.persistent.data + place);
    });
  session.reset();
  return made;
}

Result<Session> Session::start(const PlannedModel& planned, const SessionMemory& memory,
                               const SessionOptions& options) {
  const IsaMask present = cpu_isa() & kCompiledIsa;
  if (planned.listed != kListedIsa || (planned.isa & ~present) != 0)
    return Error{Status::kOtherKernels, -1, -1, planned.isa, present};
  const Executor& executor = options.executor;
  if (executor.parallel_for != nullptr && executor.width != 1)
    return Error{Status::kBadExecutor, -1, -1, executor.width, 1};
  Result<Session> made = kNoError;
  Session& session = *made;
  ITG_TRY(take_memory(memory, planned.needs, &session.memory_));
  session.model_ = Model::without_checks(planned.model, planned.streaming);
  session.planned_ = &planned;
  session.options_ = options;
  session.options_.executor.width = 1;
  session.reset();
  return made;
}

const PlannedNode* Session::nodes() const {
  return planned() ? planned_->nodes.data : reinterpret_cast<const PlannedNode*>(memory_.persistent.data);
}

// Where the bytes end that node `i` may keep; `all`: where everyone's do.
uint64_t Session::kept_end(int32_t i, uint64_t all) const {
  const PlannedNode* const records = nodes();
  int32_t after = i + 1;
  while (kPacksWeights && after < model_.node_count() && records[after].prepared_offset >= kInFile) ++after;
  return after < model_.node_count() ? records[after].prepared_offset : all;
}

Error Session::prepare_node(int32_t i) {
  if (planned()) return {Status::kOperatorMissing, i, -1, static_cast<int64_t>(model_.node(i).op)};
  const PlannedNode* const records = nodes();
  const PlannedNode& record = records[i];
  // create() has asked the CPU, which takes a virtual machine longer than some nodes.
  const Result<PlanContext> context = plan_context(options_, false);
  if (!context) return context.error();
  NodeChoice choice;
  ITG_TRY(plan_node(model_, {ops_, op_count_}, i, *context, false, &choice));
  const NodePlan& plan = choice.plan;
  if (kPacksWeights && record.prepared_offset >= kInFile) return {Status::kBadPack, i};
  const uint64_t next = kept_end(i, memory_.persistent.size);
  if (choice.op != record.op || plan.kernel != record.kernel || plan.scratch_bytes > memory_.scratch.size ||
      record.prepared_offset + uint64_t{plan.persistent_bytes} > next)
    return {Status::kPersistentTooSmall, i, -1, static_cast<int64_t>(next - record.prepared_offset),
            plan.persistent_bytes};
  if (plan.persistent_bytes > 0)
    ops_[record.op]->prepare(view_node(model_, i), plan.kernel,
                             memory_.persistent.data + record.prepared_offset);
  return kNoError;
}

Error Session::move_to(Span<uint8_t> activations, Span<uint8_t> scratch, const Executor& executor) {
  const bool serial = executor.parallel_for == nullptr;
  const int32_t width = serial ? 1 : executor.width;
  if (width < 1 || width > options_.executor.width)
    return {Status::kBadExecutor, -1, -1, width, options_.executor.width};
  const SessionNeeds needs{memory_.persistent.size, memory_.activations.size, memory_.scratch.size};
  const SessionMemory given{memory_.persistent, activations, scratch};
  memory_ = {};
  model_ = Model::without_checks(model_.bytes_, model_.streaming_);
  ITG_TRY(take_memory(given, needs, &memory_));
  options_.executor = executor;
  options_.executor.width = width;
  options_.observer = {};
  begin_picture();
  return kNoError;
}

TensorView Session::tensor(int32_t index) const {
  TensorView view;
  view.info = model_.tensor(index);
  const uint32_t offset = model_.activation_offset(index);
  view.data = offset == Model::kNoOffset ? const_cast<uint8_t*>(view.info.constant.data)
                                         : memory_.activations.data + offset;
  if (kStreams && StreamedModel::is_fed(model_, index)) view.data = nullptr;
  return view;
}

TensorView Session::input(int32_t i) const { return tensor(model_.inputs()[static_cast<size_t>(i)]); }
TensorView Session::output(int32_t i) const { return tensor(model_.outputs()[static_cast<size_t>(i)]); }

const char* Session::kernel_name(int32_t node) const {
  if (planned()) return "";
  const PlannedNode& record = nodes()[node];
  const OpDef& def = *ops_[record.op];
  return def.kernel_name == nullptr ? "" : def.kernel_name(record.kernel);
}

void Session::reset() { move_states(StateMove::kReset); }

void Session::run() {
  move_states(StateMove::kLoad);
  if (options_.observer.on_tensor != nullptr)
    for (const int32_t input : model_.inputs())
      if (!kStreams || tensor(input).data != nullptr)
        options_.observer.on_tensor(options_.observer.context, -1, input, tensor(input));
  run_nodes(0, model_.node_count());
  move_states(StateMove::kStore);
}

void Session::move_states(StateMove move) {
  uint8_t* value = memory_.persistent.data + (planned() ? 0 : states_offset(model_));
  for (int32_t i = 0; i < model_.state_count(); ++i) {
    const StateInfo state = model_.state(i);
    const TensorView view = tensor(move == StateMove::kStore ? state.output : state.input);
    const size_t bytes = view.info.bytes();
    if (move == StateMove::kLoad) {
      memcpy(view.data, value, bytes);
    } else if (move == StateMove::kReset && state.initial.empty()) {
      memset(value, 0, bytes);
    } else {
      memcpy(value, move == StateMove::kStore ? static_cast<const uint8_t*>(view.data) : state.initial.data,
             bytes);
    }
    value += align_up(bytes, kTensorAlignment);
  }
}

void Session::run_nodes(int32_t first, int32_t last) {
  const Executor& executor = options_.executor;
  if (executor.region == nullptr || executor.parallel_for == nullptr || executor.width == 1)
    return run_nodes_with(executor, first, last);
  struct Nodes {
    Session* session;
    int32_t first, last;
  } nodes = {this, first, last};
  executor.region(
      executor.context,
      [](void* argument, const Executor& ready) {
        const Nodes& n = *static_cast<const Nodes*>(argument);
        n.session->run_nodes_with(ready, n.first, n.last);
      },
      &nodes);
}

// The memory and tensors of node `i` while it runs, and its run function.
__attribute__((always_inline)) inline const OpRun* Session::node_run(int32_t i, NodeRun* run) const {
  const PlannedNode& record = nodes()[i];
  const uint8_t* const prepared = planned() ? planned_->prepared : memory_.persistent.data;
  const uint32_t offset = record.prepared_offset;
  run->persistent =
      kPacksWeights && offset >= kInFile ? model_.bytes().data + (offset - kInFile) : prepared + offset;
  run->kernel = record.kernel;
  return planned() ? planned_->ops[record.op] : ops_[record.op]->run;
}

const OpRun* Session::set_node(int32_t i, NodeRun* run) const { return node_run(i, run); }

void Session::run_nodes_with(const Executor& executor, int32_t first, int32_t last) {
  const FloatMode mode;
  NodeRun run;
  run.model = &model_;
  run.activations = memory_.activations.data;
  run.scratch = memory_.scratch.data;
  run.executor = &executor;
  const Streaming* const streaming = StreamedModel::streaming(model_);
  if (streaming != nullptr) return streaming->run_nodes(*this, run, first, last);
  for (int32_t i = first; i < last; ++i) {
    const NodeView node = view_node(model_, i);
    node_run(i, &run)->run(node, run);
#ifndef NDEBUG
    poison_dead_inputs(model_, run, node.info, i);
#endif
    if (options_.observer.on_tensor == nullptr) continue;
    for (const int32_t output : node.info.outputs)
      options_.observer.on_tensor(options_.observer.context, i, output, tensor(output));
  }
}

}  // namespace intaglio
