// The pipeline, top to bottom: observe (add), then ranges, scales, bake, bias correction, replay (finish).
#include "intaglio/calibrator.h"

#include "calibrator/calibration.h"
#include "calibrator/observe/patch_means.h"
#include "calibrator/option_checks.h"
#include "calibrator/ranges/auto_rules.h"
#include "calibrator/ranges/ranges.h"
#include "calibrator/recover/recovery.h"

static_assert(sizeof(1.0) == sizeof(double),
              "the calibrator computes in double: compile it without -fsingle-precision-constant");

namespace intaglio {
namespace {

// Checks that the model can be calibrated with these options.
Result<SessionNeeds> measure_session(const Model& model, const CalibratorOptions& options) {
  ITG_TRY(check_options(options, model));
  ITG_TRY(check_float(model));
  ITG_TRY(check_constants(model, options.isa));
  SessionOptions session;
  session.isa = options.isa;
  session.executor = options.executor;
  return Session::measure_anywhere(model, float_ops(), session);
}

// Counted in 64 bits: a board's size_t may hold the parts and not their sum.
Result<CalibratorNeeds> needs_of(const Model& model, const SessionNeeds& session,
                                 const CalibratorOptions& options) {
  const uint64_t of_session =
      align_memory(session.total()) + Lanes::bytes(session, lane_count(options.executor));
  const uint64_t of_observers = observer_bytes(model, options);
  const Result<uint64_t> output = finish_bytes(model, session, options);
  if (!output) return output.error();
  const uint64_t of_output = *output;
  constexpr uint64_t kMost = SIZE_MAX / 2;
  const uint64_t all =
      of_session + of_observers + of_output + options.replay_bytes;  // though some may be shared
  if (options.replay_bytes > kMost || all > kMost)
    return Error{Status::kSessionTooLarge, -1, -1, static_cast<int64_t>(all), static_cast<int64_t>(kMost)};
  CalibratorNeeds needs;
  needs.session_bytes = static_cast<size_t>(of_session);
  needs.observer_bytes = static_cast<size_t>(of_observers);
  needs.replay_bytes = align_memory(options.replay_bytes);
  needs.output_bytes = static_cast<size_t>(of_output);
  if (options.one_pass && !options.layer_report && (options.recover & ~recovery::kBiasCorrection) == 0)
    needs.shared_bytes = needs.session_bytes < needs.output_bytes ? needs.session_bytes : needs.output_bytes;
  return needs;
}

int32_t halves_of(const CalibratorOptions& options) { return options.without_halves ? 1 : 2; }

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

// Attempts that are recorded: of each recovery that is asked for at most one a node, or one a method.
size_t record_count(const Model& model, RecoveryMask recover) {
  size_t recoveries = 0;
  for (; recover != 0; recover &= recover - 1) ++recoveries;
  return recoveries * (static_cast<size_t>(model.node_count()) + 2) + kRangeMethodCount;
}

// Of the list of samples that are few. Where none runs again it is not asked for.
size_t few_sample_bytes(const CalibratorOptions& options) {
  return options.one_pass ? 0 : Replay::list_bytes(kFewSamples);
}

// The caller's options without the recoveries that cannot run with them.
void set_options(Calibration& calibration, const Model& model, const CalibratorOptions& options) {
  FloatModel& fp32 = calibration.fp32;
  fp32.threads.set(options.executor);
  fp32.executor = fp32.threads.executor();
  fp32.lane_count = lane_count(options.executor);
  fp32.isa = options.isa;
  calibration.options = options;
  calibration.options.executor = fp32.executor;
  calibration.options.recover = possible_recoveries(model, options);
  const IsaMask isa = options.isa & cpu_isa();
  calibration.observing.observe = &observe_f32_best(isa);
  calibration.observing.patch_sums = &patch_sums_best(isa);
  calibration.observing.sha256 = &sha256_best(isa);
}

// `memory`: of the session, then of the other lanes.
Error open_session(FloatModel& fp32, const Model& model, const SessionNeeds& needs, Span<uint8_t> memory) {
  const SessionMemory own = Session::split(memory, needs);
  const size_t own_bytes = align_memory(needs.total());
  fp32.model = model;
  fp32.lanes = Lanes(own, {memory.data + own_bytes, memory.size - own_bytes});
  Result<Session> session = Session();
  fp32.threads.hold([&] { session = fp32.create_session(model, own); });
  if (!session) return session.error();
  fp32.session = fp32.reference = *session;
  return kNoError;
}

// Makes the lists that observer_bytes() counts.
Error make_lists(Calibration& calibration, Arena& arena) {
  const Model& model = calibration.fp32.model;
  const CalibratorOptions& options = calibration.options;
  Observing& observing = calibration.observing;
  observing.observer_of = arena.make<int32_t>(static_cast<size_t>(model.tensor_count()));
  calibration.memory.slots.memory = Arena(arena.make<uint8_t>(slot_bytes(model)));
  Arena spare = calibration.memory.slots.memory;
  const Result<SlotMap> slots = make_slots(model, options, options.method, spare);
  if (!slots) return slots.error();
  observing.first_mean = arena.make<size_t>(static_cast<size_t>(model.node_count()));
  const size_t observers = number_observed(model, *slots, observing.observer_of);
  size_t means = 0, largest = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const size_t count = mean_count(model, n, options);
    observing.first_mean[static_cast<size_t>(n)] = means;
    means += count;
    largest = count > largest ? count : largest;
  }
  CalibrationState& seen = calibration.seen;
  const int32_t bins = bins_for(options);
  const int32_t halves = halves_of(options);
  observing.halves = seen.halves = static_cast<uint32_t>(halves);
  seen.observers = make_observers(arena, observers, bins, halves);
  seen.mean_sums = arena.make<int64_t>(seen.halves * means);
  seen.inputs = arena.make<InputValues>(model.inputs().size);
  const auto lanes = static_cast<size_t>(calibration.fp32.lane_count);
  observing.lanes = arena.make<LaneObservers>(lanes);
  for (LaneObservers& lane : observing.lanes) {
    lane.means = arena.make<double>(largest);
    if (&lane == observing.lanes.data) continue;
    lane.observers = make_observers(arena, observers, bins, halves);
    lane.mean_sums = arena.make<int64_t>(seen.halves * means);
    lane.inputs = arena.make<InputValues>(model.inputs().size);
  }
  if (!observing.lanes.empty()) observing.look_into(seen.observers, seen.mean_sums, seen.inputs);
  observing.spare = make_observers(arena, lanes, bins);
  calibration.memory.slots.behind = arena.make<FunctionBehind>(looks_behind(model, options) ? lanes : 0);
  for (FunctionBehind& behind : calibration.memory.slots.behind) {
    behind.value = arena.make<float>(static_cast<size_t>(bins));
    behind.weight = arena.make<float>(static_cast<size_t>(bins));
  }
  observing.outputs = output_tensors(model, arena);
  calibration.exact_outputs = arena.make<float>(lanes * output_elements(observing.outputs));
  calibration.few_samples = arena.make<uint8_t>(few_sample_bytes(options));
  calibration.memory.records = arena.make<RecoveryRecord>(record_count(model, options.recover));
  return kNoError;
}

}  // namespace

Result<CalibratorNeeds> Calibrator::measure(const Model& model, const CalibratorOptions& options) {
  const Result<SessionNeeds> session = measure_session(model, options);
  if (!session) return session.error();
  return needs_of(model, *session, options);
}

Result<size_t> Calibrator::replay_bytes(const Model& model, int32_t samples,
                                        const CalibratorOptions& options) {
  ITG_TRY(check_float(model));
  uint64_t elements = 0;
  for (const int32_t output : model.outputs()) elements += output_tensor(model, output).elements;
  // Samples stand before a layer that changes. Activations of the int8 model take about a quarter; what alignment and borders to FP32
  // add is the rest. Those held out go through the FP32 model, too.
  const bool stand = (options.recover & recovery::kLayers) != 0;
  const uint64_t activations = stand ? 2 * (model.activation_bytes() / 3) + 16 * kMemoryAlignment : 0;
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

  Arena arena({memory.data, needs.observer_bytes});
  Calibration& calibration = arena.make<Calibration>(1)[0];
  set_options(calibration, model, options);
  // [ lists and observers | replay | session | output ], the last two in one place where they share their memory. What is beyond
  // the needs saves time.
  size_t spare = (memory.size - needs.total()) / kMemoryAlignment * kMemoryAlignment;
  calibration.shares_memory = spare < needs.shared_bytes;
  spare -= calibration.shares_memory ? 0 : needs.shared_bytes;
  uint8_t* const replay = memory.data + needs.observer_bytes;
  const size_t replay_size = needs.replay_bytes + spare;
  uint8_t* const session = replay + replay_size;
  ITG_TRY(open_session(calibration.fp32, model, *session_needs, {session, needs.session_bytes}));
  ITG_TRY(make_lists(calibration, arena));
  calibration.options.replay_bytes = replay_size;
  calibration.references = ReferenceOutputs(calibration.observing.outputs, {replay, replay_size});
  const size_t before_output = calibration.shares_memory ? 0 : needs.session_bytes;
  calibration.memory.output = {session + before_output, needs.output_bytes};
  if (arena.exhausted())  // observer_bytes() counted too little: a fault of ours, never a crash
    return Error{Status::kOutOfMemory, -1, -1, static_cast<int64_t>(memory.size),
                 static_cast<int64_t>(memory.size) + 1};
  Calibrator calibrator;
  calibrator.parts_ = &calibration;
  return calibrator;
}

uint64_t observer_bytes(const Model& model, const CalibratorOptions& options) {
  constexpr size_t kSlack = 16;  // alignment of each list
  const int32_t tensors = model.tensor_count(), nodes = model.node_count();
  const auto lanes = static_cast<uint64_t>(lane_count(options.executor));
  const uint64_t observers = most_observed(model, options);
  const int32_t bins = bins_for(options), halves = halves_of(options);
  uint64_t means = 0, largest = 0, outputs = 0;
  for (int32_t n = 0; n < nodes; ++n) {
    const uint64_t count = mean_count(model, n, options);
    means += count;
    largest = count > largest ? count : largest;
  }
  for (const int32_t output : model.outputs())
    outputs += output_tensor(model, output).elements * sizeof(float);
  const uint64_t behind_bytes = sizeof(FunctionBehind) + 2 * static_cast<uint64_t>(bins) * sizeof(float);
  return align_memory(
      sizeof(Calibration) + slot_bytes(model) + few_sample_bytes(options) +
      static_cast<uint64_t>(tensors) * sizeof(int32_t) + static_cast<uint64_t>(nodes) * sizeof(size_t) +
      lanes *
          (observer_list_bytes(static_cast<size_t>(observers), bins, halves) + observer_list_bytes(1, bins) +
           static_cast<uint64_t>(halves) * means * sizeof(int64_t) + largest * sizeof(double) + outputs +
           sizeof(LaneObservers) + (looks_behind(model, options) ? behind_bytes : 0) +
           model.inputs().size * sizeof(InputValues) + 5 * kSlack) +
      output_parts(model) * sizeof(OutputTensor) +
      record_count(model, options.recover) * sizeof(RecoveryRecord) + 16 * kSlack);
}

TensorView Calibrator::output(int32_t i) const { return parts_->fp32.session.output(i); }

Error Calibrator::Parts::take_session_back() {
  if (!session_is_gone) return kNoError;
  const Result<Session> session = fp32.create_session(fp32.model, fp32.lanes.own());
  if (!session) return session.error();
  fp32.session = fp32.reference = *session;
  finished = {};
  session_is_gone = false;
  return kNoError;
}

void Calibrator::Parts::name_graph() {
  if (graph_is_named) return;
  Sha256 sha;
  sha.update(fp32.model.bytes().data, fp32.model.bytes().size);
  // Options may have other tensors observed.
  for (const int32_t observer : observing.observer_of) {
    const uint8_t observed = observer >= 0 ? 1 : 0;
    sha.update(&observed, 1);
  }
  seen.graph = sha.finish();
  graph_is_named = true;
}

size_t Calibrator::state_bytes() const {
  return intaglio::state_bytes(parts_->seen, kAutoRules.probes.samples);
}

Error Calibrator::save(Span<uint8_t> bytes) const {
  if (!parts_->fault.ok()) return parts_->fault;
  parts_->name_graph();
  const size_t needed = save_state(parts_->seen, kAutoRules.probes.samples, bytes);
  if (bytes.size != needed)
    return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(bytes.size), static_cast<int64_t>(needed)};
  return kNoError;
}

Error Calibrator::save_to(const StateSink& sink) const {
  if (!parts_->fault.ok()) return parts_->fault;
  parts_->name_graph();
  size_t bytes = 0;
  return write_state(parts_->seen, kAutoRules.probes.samples, sink, &bytes) ? kNoError
                                                                            : Error{Status::kSinkFailed};
}

Error Calibrator::load(Span<const uint8_t> bytes) {
  reset_state(parts_->seen);
  parts_->fault = kNoError;
  return merge(bytes);
}

Error Calibrator::merge(Span<const uint8_t> bytes) {
  if (!parts_->fault.ok()) return parts_->fault;
  parts_->name_graph();
  return merge_state(parts_->seen, bytes, parts_->observing.spare[0]);
}

Error Calibrator::merge_from(const StateSource& source) {
  if (!parts_->fault.ok()) return parts_->fault;
  parts_->name_graph();
  bool is_spoiled = false;
  const Error error = merge_state(parts_->seen, source, parts_->observing.spare[0], &is_spoiled, {});
  if (is_spoiled) parts_->fault = error;
  return error;
}

Error Calibrator::finish(const ModelSink& sink, const SampleSource* source) {
  if (!parts_->fault.ok()) return parts_->fault;
  parts_->session_is_gone = parts_->shares_memory;
  return finish_calibration(*parts_, {parts_->options, parts_->seen, parts_->memory}, sink,
                            parts_->options.one_pass ? nullptr : source, parts_->finished);
}

TensorStatistics Calibrator::statistics(int32_t tensor) const {
  const Calibration& calibration = *parts_;
  const SlotMap& map = calibration.memory.slots.map;
  if (map.tensor_of.empty() || tensor < 0 || tensor >= calibration.fp32.model.tensor_count()) return {};
  const int32_t root = map.tensor_of[static_cast<size_t>(map.slots.root(tensor))];
  const int32_t index = root < 0 ? -1 : calibration.observing.observer_of[static_cast<size_t>(root)];
  if (index < 0) return {};
  const TensorObserver& observer = calibration.finished.reported[static_cast<size_t>(index)];
  TensorStatistics seen;
  for (size_t half = 0; half < 2; ++half) {
    seen.min = observer.min[half] < seen.min ? observer.min[half] : seen.min;
    seen.max = observer.max[half] > seen.max ? observer.max[half] : seen.max;
    if (static_cast<int32_t>(half) < observer.halves())
      seen.counts[half] = {observer.counts->halves[half].counts, static_cast<size_t>(observer.bins())};
  }
  seen.start = observer.bin_start(0);
  seen.width = observer.bin_width();
  return seen;
}

const CalibrationReport& Calibrator::report() const { return parts_->finished.report; }

}  // namespace intaglio
