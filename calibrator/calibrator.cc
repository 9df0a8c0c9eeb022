// The pipeline, top to bottom: observe (add), then ranges, scales, bake, bias correction, replay (finish).
#include "intaglio/calibrator.h"

#include "calibrator/calibrator_memory.h"
#include "calibrator/observe/patch_means.h"
#include "calibrator/quantization/answers.h"
#include "calibrator/recover/recovery.h"
#include "runtime/op_search.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

// What is an answer leaves in FP32, and so does all behind it.
bool has_no_slot(const SlotSetting& setting, const CalibratorOptions& options, const Model& model) {
  if (setting.node < 0) return false;
  const bool is_answer = answer_op(model, setting.node, options) != Op::kNone;
  return (is_answer && setting.role == SlotRole::kOutput) || follows_answer(model, setting.node, options);
}

Error check_settings(const CalibratorOptions& options, const Model& model) {
  if (options.weight_bits < kMinBits || options.weight_bits > kMaxBits)
    return {Status::kBadBits, -1, -1, options.weight_bits, kMaxBits};
  for (const SlotSetting& setting : options.slots) {
    if (setting.node < -1 || setting.node >= model.node_count())
      return {Status::kBadOption, -1, -1, setting.node, model.node_count() - 1};
    if (has_no_slot(setting, options, model))
      return {Status::kAnswerSlot, setting.node, model.node(setting.node).outputs[0]};
    if (setting.bits != 0 && (setting.bits < kMinBits || setting.bits > kMaxBits))
      return {Status::kBadBits, setting.node, -1, setting.bits, kMaxBits};
    if (setting.rounding < -1 || setting.rounding >= kRoundingCount)
      return {Status::kBadOption, setting.node, -1, setting.rounding, kRoundingCount - 1};
    if (setting.policy == 0) continue;
    Error error = check_policy(setting.policy);
    error.node = setting.node;
    if (!error.ok()) return error;
  }
  return kNoError;
}

// Weights of how many output channels a tensor holds; 0: it is no layer's weights.
int32_t weight_channels(const Model& model, int32_t tensor) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def == nullptr || def->quant.weight_input < 0) continue;
    if (node.inputs[static_cast<size_t>(def->quant.weight_input)] == tensor)
      return model.tensor(tensor).shape[def->quant.weight_axis];
  }
  return 0;
}

Error check_known(const Span<const KnownParams>& list, const Model& model) {
  for (const KnownParams& known : list) {
    if (known.tensor < 0 || known.tensor >= model.tensor_count())
      return {Status::kTensorIndex, -1, -1, known.tensor, model.tensor_count()};
    if (!model.tensor(known.tensor).is_constant()) {
      if (!is_scale(known.scale)) return {Status::kBadScale, -1, known.tensor};
      continue;
    }
    const auto channels = static_cast<size_t>(weight_channels(model, known.tensor));
    const size_t count = known.channel_scales.size;
    if (channels == 0 || (count != 1 && count != channels))
      return {Status::kScaleCount, -1, known.tensor, static_cast<int64_t>(count),
              static_cast<int64_t>(channels)};
    for (size_t c = 0; c < count; ++c)
      if (!is_scale(known.channel_scales[c]))
        return {Status::kBadScale, -1, known.tensor, static_cast<int64_t>(c)};
  }
  return kNoError;
}

Error check_options(const CalibratorOptions& options, const Model& model) {
  if (static_cast<int32_t>(options.method) >= kRangeMethodCount)
    return {Status::kBadOption, -1, -1, static_cast<int64_t>(options.method), kRangeMethodCount - 1};
  if (options.compat > Compat::kPpq)
    return {Status::kBadOption, -1, -1, static_cast<int64_t>(options.compat), kCompatCount - 1};
  ITG_TRY(check_settings(options, model));
  ITG_TRY(check_known(options.known, model));
  if (!(options.percentile > 0.5 && options.percentile <= 1.0)) return {Status::kBadOption, -1, -1, 0, 1};
  for (const int32_t node : options.float_nodes)
    if (node < 0 || node >= model.node_count())
      return {Status::kBadOption, -1, -1, node, model.node_count() - 1};
  return kNoError;
}

Error check_float(const Model& model) {
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    const bool is_index = info.dtype == DType::kS32 && info.is_constant();
    if (info.dtype != DType::kF32 && !is_index) return {Status::kNotFloat, -1, t};
  }
  return kNoError;
}

// Every value that a weight or other constant holds is finite.
Error check_constants(const Model& model, IsaMask isa) {
  const ObserveF32Kernel& kernel = observe_f32_best(isa & cpu_isa());
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (!info.is_constant() || info.dtype != DType::kF32) continue;
    const Span<const float> values{reinterpret_cast<const float*>(info.constant.data),
                                   info.constant.size / sizeof(float)};
    const int64_t at = extremes_of(values, kernel).finite ? -1 : first_non_finite(values);
    if (at >= 0) return {Status::kNonFinite, -1, t, at / info.shape.elements(1, info.shape.rank)};
  }
  return kNoError;
}

SessionOptions session_options(const CalibratorOptions& options, const Executor& executor) {
  SessionOptions session;
  session.isa = options.isa;
  session.executor = executor;
  return session;
}

// What can be calibrated, with these options.
Result<SessionNeeds> measure_session(const Model& model, const CalibratorOptions& options) {
  ITG_TRY(check_options(options, model));
  ITG_TRY(check_float(model));
  ITG_TRY(check_constants(model, options.isa));
  return Session::measure(model, float_ops(), session_options(options, options.executor));
}

// Counted in 64 bits: a board's size_t may hold the parts and not their sum.
Result<CalibratorNeeds> needs_of(const Model& model, const SessionNeeds& session,
                                 const CalibratorOptions& options) {
  const uint64_t of_session =
      align_memory(session.total()) + Lanes::bytes(session, lane_count(options.executor));
  const uint64_t of_observers = observer_bytes(model, options),
                 of_output = output_bytes(model, session, options);
  constexpr uint64_t kMost = SIZE_MAX / 2;
  const uint64_t all = of_session + of_observers + of_output + options.replay_bytes;
  if (options.replay_bytes > kMost || all > kMost)
    return Error{Status::kSessionTooLarge, -1, -1, static_cast<int64_t>(all), static_cast<int64_t>(kMost)};
  CalibratorNeeds needs;
  needs.session_bytes = static_cast<size_t>(of_session);
  needs.observer_bytes = static_cast<size_t>(of_observers);
  needs.replay_bytes = align_memory(options.replay_bytes);
  needs.output_bytes = static_cast<size_t>(of_output);
  return needs;
}

// Numbers the tensors on which the range of a root hangs. Returns how many there are.
size_t number_observed(const Model& model, const SlotMap& map, Span<int32_t> observer_of) {
  for (int32_t& observer : observer_of) observer = -1;
  size_t count = 0;
  for (int32_t slot = 0; slot < map.slots.count(); ++slot) {
    const QuantConfig& config = map.slots.own(slot);
    if (config.state != QuantState::kInitial || config.parameter) continue;
    const int32_t tensor = map.tensor_of[static_cast<size_t>(slot)];
    int32_t& observer = observer_of[static_cast<size_t>(tensor)];
    if (!model.tensor(tensor).is_constant() && observer < 0) observer = static_cast<int32_t>(count++);
  }
  return count;
}

const QuantRule* rule_of(const Model& model, int32_t node) {
  const OpDef* const def = find_op(float_ops(), model, model.node(node));
  return def == nullptr ? nullptr : &def->quant;
}

// Attempts that are recorded: of each recovery at most one a node.
size_t record_count(const Model& model) {
  return recovery_rules().size * (static_cast<size_t>(model.node_count()) + 2);
}

}  // namespace

size_t mean_count(const Model& model, int32_t node, const CalibratorOptions& options) {
  const QuantRule* const rule = rule_of(model, node);
  if (rule == nullptr || rule->weight_input < 0 || !becomes_int8(model, node, options)) return 0;
  return patch_size(model, model.node(node));
}

size_t input_bytes(const Model& model) {
  size_t bytes = 0;
  for (const int32_t input : model.inputs()) bytes += model.tensor(input).bytes();
  return bytes;
}

Result<CalibratorNeeds> Calibrator::measure(const Model& model, const CalibratorOptions& options) {
  const Result<SessionNeeds> session = measure_session(model, options);
  if (!session) return session.error();
  return needs_of(model, *session, options);
}

Result<size_t> Calibrator::replay_bytes(const Model& model, int32_t samples,
                                        const CalibratorOptions& options) {
  ITG_TRY(check_float(model));
  uint64_t elements = 0;
  for (const int32_t output : model.outputs())
    elements += static_cast<uint64_t>(model.tensor(output).shape.elements());
  // Activations of the int8 model take about a quarter; what alignment and borders to FP32 add is the rest.
  uint64_t activations = model.activation_bytes() / 3 + 16 * kMemoryAlignment;
  // Those held out go through the FP32 model, too.
  if ((options.recover & recovery::kLayers) != 0) activations += model.activation_bytes() / 3;
  const uint64_t outputs = elements * sizeof(float) + 3 * sizeof(SampleName) + 2 * kMemoryAlignment;
  const uint64_t tensors = 32 * static_cast<uint64_t>(model.tensor_count() + 2 * model.node_count());
  const uint64_t bytes =
      align_memory((activations + outputs) * static_cast<uint64_t>(samples < 0 ? 0 : samples) + tensors);
  if (bytes > SIZE_MAX / 2)
    return Error{Status::kSessionTooLarge, -1, -1, static_cast<int64_t>(bytes),
                 static_cast<int64_t>(SIZE_MAX / 2)};
  return static_cast<size_t>(bytes);
}

Result<Calibrator> Calibrator::create(const Model& model, Span<uint8_t> memory,
                                      const CalibratorOptions& options) {
  const Result<SessionNeeds> session_needs = measure_session(model, options);
  if (!session_needs) return session_needs.error();
  const Result<CalibratorNeeds> measured = needs_of(model, *session_needs, options);
  if (!measured) return measured.error();
  const CalibratorNeeds& needs = *measured;
  if (memory.size < needs.total())
    return Error{Status::kOutOfMemory, -1, -1, static_cast<int64_t>(memory.size),
                 static_cast<int64_t>(needs.total())};
  const size_t misaligned = reinterpret_cast<uintptr_t>(memory.data) % kMemoryAlignment;
  if (misaligned != 0)
    return Error{Status::kMemoryMisaligned, -1, -1, static_cast<int64_t>(misaligned), kMemoryAlignment};

  Arena arena({memory.data + needs.session_bytes, needs.observer_bytes});
  CalibratorMemory& state = arena.make<CalibratorMemory>(1)[0];
  state.model = model;
  state.options = options;
  state.asked = options.method;
  if (options.safe_pairs) state.options.recover &= ~recovery::kLayers;
  const IsaMask isa = options.isa & cpu_isa();
  state.observe = &observe_f32_best(isa);
  state.patch_sums = &patch_sums_best(isa);
  state.sha256 = &sha256_best(isa);
  if (!options.known.empty()) state.options.recover &= recovery::kDefault;
  state.threads.set(options.executor);
  state.options.executor = state.threads.executor();
  uint8_t* const replay = memory.data + needs.session_bytes + needs.observer_bytes;
  state.output = {replay + needs.replay_bytes, needs.output_bytes};
  state.session_memory = Session::split({memory.data, needs.session_bytes}, *session_needs);
  const size_t own_bytes = align_memory(session_needs->total());
  state.lanes = Lanes(state.session_memory, {memory.data + own_bytes, needs.session_bytes - own_bytes});
  Result<Session> session = Session();
  state.threads.hold([&] {
    session = Session::create(model, float_ops(), state.session_memory,
                              session_options(options, state.options.executor));
  });
  if (!session) return session.error();
  state.session = state.reference = *session;

  state.observer_of = arena.make<int32_t>(static_cast<size_t>(model.tensor_count()));
  const Span<uint8_t> slot_memory = arena.make<uint8_t>(slot_bytes(model));
  state.slot_memory = Arena(slot_memory);
  Arena spare = state.slot_memory;
  const Result<SlotMap> slots = make_slots(model, options, spare);
  if (!slots) return slots.error();
  state.first_mean = arena.make<size_t>(static_cast<size_t>(model.node_count()));
  const size_t observers = number_observed(model, *slots, state.observer_of);
  size_t means = 0, largest = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const size_t count = mean_count(model, n, options);
    state.first_mean[static_cast<size_t>(n)] = means;
    means += count;
    largest = count > largest ? count : largest;
  }
  CalibrationState& seen = state.seen;
  seen.observers = arena.make<TensorObserver>(observers);
  seen.mean_sums = arena.make<int64_t>(2 * means);
  seen.inputs = arena.make<InputValues>(model.inputs().size);
  seen.golden_sample = arena.make<uint8_t>(input_bytes(model));
  const auto lanes = static_cast<size_t>(lane_count(options.executor));
  state.lane_states = arena.make<LaneState>(lanes);
  for (LaneState& lane : state.lane_states) {
    lane.means = arena.make<double>(largest);
    if (&lane == state.lane_states.data) continue;
    lane.observers = arena.make<TensorObserver>(observers);
    lane.mean_sums = arena.make<int64_t>(2 * means);
    lane.inputs = arena.make<InputValues>(model.inputs().size);
  }
  state.spare = arena.make<TensorObserver>(lanes);
  state.outputs = output_tensors(model, arena);
  state.exact_outputs = arena.make<float>(lanes * output_elements(state.outputs));
  state.references = ReferenceOutputs(state.outputs, {replay, needs.replay_bytes});
  state.records = arena.make<RecoveryRecord>(record_count(model));
  if (arena.exhausted())  // observer_bytes() counted too little: a fault of ours, never a crash
    return Error{Status::kOutOfMemory, -1, -1, static_cast<int64_t>(memory.size),
                 static_cast<int64_t>(memory.size) + 1};
  Calibrator calibrator;
  calibrator.memory_ = &state;
  return calibrator;
}

uint64_t observer_bytes(const Model& model, const CalibratorOptions& options) {
  constexpr size_t kSlack = 16;  // alignment of each list
  const int32_t tensors = model.tensor_count(), nodes = model.node_count();
  const auto lanes = static_cast<uint64_t>(lane_count(options.executor));
  uint64_t means = 0, largest = 0, outputs = 0, observers = 1;  // one to spare
  for (int32_t n = 0; n < nodes; ++n) {
    const uint64_t count = mean_count(model, n, options);
    means += count;
    largest = count > largest ? count : largest;
  }
  // What stands before a final softmax is as large as its output.
  for (const int32_t output : model.outputs())
    outputs += static_cast<uint64_t>(model.tensor(output).shape.elements()) * sizeof(float);
  for (int32_t t = 0; t < tensors; ++t) observers += model.tensor(t).is_constant() ? 0 : 1;
  return align_memory(
      sizeof(CalibratorMemory) + slot_bytes(model) + static_cast<uint64_t>(tensors) * sizeof(int32_t) +
      static_cast<uint64_t>(nodes) * sizeof(size_t) +
      lanes * (observers * sizeof(TensorObserver) + 2 * means * sizeof(int64_t) + largest * sizeof(double) +
               outputs + sizeof(LaneState) + model.inputs().size * sizeof(InputValues) + 4 * kSlack) +
      input_bytes(model) + model.outputs().size * sizeof(OutputTensor) +
      record_count(model) * sizeof(RecoveryRecord) + 16 * kSlack);
}

TensorView Calibrator::output(int32_t i) const { return memory_->session.output(i); }

Span<double> CalibratorMemory::means_of(int32_t node, int32_t lane) const {
  return {lane_states[static_cast<size_t>(lane)].means.data, mean_count(model, node, options)};
}

// Only states that are kept or merged name their graph.
void CalibratorMemory::name_graph() {
  if (graph_is_named) return;
  Sha256 sha;
  sha.update(model.bytes().data, model.bytes().size);
  // Options may have other tensors observed.
  for (const int32_t observer : observer_of) {
    const uint8_t observed = observer >= 0 ? 1 : 0;
    sha.update(&observed, 1);
  }
  seen.graph = sha.finish();
  graph_is_named = true;
}

size_t Calibrator::state_bytes() const { return intaglio::state_bytes(memory_->seen); }

Error Calibrator::save(Span<uint8_t> bytes) const {
  if (!memory_->fault.ok()) return memory_->fault;
  if (bytes.size != state_bytes())
    return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(bytes.size),
            static_cast<int64_t>(state_bytes())};
  memory_->name_graph();
  save_state(memory_->seen, bytes);
  return kNoError;
}

Error Calibrator::load(Span<const uint8_t> bytes) {
  reset_state(memory_->seen);
  memory_->fault = kNoError;
  return merge(bytes);
}

Error Calibrator::merge(Span<const uint8_t> bytes) {
  if (!memory_->fault.ok()) return memory_->fault;
  memory_->name_graph();
  return merge_state(memory_->seen, bytes, memory_->spare[0]);
}

Error Calibrator::finish(const ModelSink& sink, const SampleSource* source) {
  if (!memory_->fault.ok()) return memory_->fault;
  return finish_calibration(*memory_, sink, source);
}

TensorStatistics Calibrator::statistics(int32_t tensor) const {
  if (memory_->slots.tensor_of.empty() || tensor < 0 || tensor >= memory_->model.tensor_count()) return {};
  const int32_t root = memory_->slots.tensor_of[static_cast<size_t>(memory_->slots.slots.root(tensor))];
  const int32_t index = root < 0 ? -1 : memory_->observer_of[static_cast<size_t>(root)];
  if (index < 0) return {};
  const TensorObserver& observer = memory_->reported[static_cast<size_t>(index)];
  TensorStatistics seen;
  for (size_t half = 0; half < 2; ++half) {
    seen.min = observer.min[half] < seen.min ? observer.min[half] : seen.min;
    seen.max = observer.max[half] > seen.max ? observer.max[half] : seen.max;
    seen.counts[half] = {observer.halves[half].counts, kBins};
  }
  seen.start = observer.bin_start(0);
  seen.width = observer.bin_width();
  return seen;
}

const CalibrationReport& Calibrator::report() const { return memory_->report; }

}  // namespace intaglio
