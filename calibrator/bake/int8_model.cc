#include "calibrator/bake/int8_model.h"

#include "calibrator/bake/bake.h"
#include "calibrator/quantization/int8_nodes.h"
#include "intaglio/planned_model.h"
#include "runtime/codes_memory.h"
#include "runtime/liveness.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

template <typename T>
void overwrite(Span<const T> target, const void* source) {
  if (!target.empty()) memcpy(const_cast<T*>(target.data), source, target.size * sizeof(T));
}

}  // namespace

// The user's file is the FP32 model: its names, and its numbers.
Error Int8Model::as_in_fp32(Error error) const {
  const Model& fp32 = source_.fp32.model;
  const char* tensor = nullptr;
  if (error.tensor >= 0 && error.tensor < static_cast<int32_t>(graph_.tensors.size()))
    tensor = graph_.tensors[static_cast<size_t>(error.tensor)].name;
  if (error.node >= 0 && error.node < static_cast<int32_t>(graph_.nodes.size())) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(error.node)];
    error.node = node.source;
    // A node at a border of FP32, or one that gives codes another scale, is none of that file; what it writes
    // has the name of a tensor there, with a word behind it.
    if (tensor == nullptr && error.node < 0)
      tensor = graph_.tensors[static_cast<size_t>(node.inputs[0])].name;
  }
  error.tensor = -1;
  for (int32_t t = 0; tensor != nullptr && t < fp32.tensor_count(); ++t) {
    const size_t length = strlen(fp32.tensor(t).name);
    const bool is_it = strncmp(fp32.tensor(t).name, tensor, length) == 0 &&
                       (tensor[length] == '\0' || tensor[length] == '/');
    const bool is_longer = error.tensor < 0 || length > strlen(fp32.tensor(error.tensor).name);
    if (is_it && is_longer) error.tensor = t;
  }
  return error;
}

Error Int8Model::bake(const CalibrationInfo& info) {
  revision_ = ++last_revision_;
  if (!keeps_weights_) weights_ = {};
  arena_ = weights_.layers.empty() ? empty_ : weights_.behind;
  session_memory_ = {};
  bytes_ = {};
  SlotMap slots = source_.slots;  // a handle: weights and biases get their scales in place
  BakeInput input{&source_.fp32.model, &slots, &source_.options, &weights_, source_.fp32.functions};
  Arena codes;
  if (is_written_once(source_.options)) {
    const BakeCount count = count_bake(source_.fp32.model, source_.options);
    const auto bytes = static_cast<size_t>(file_bytes(count.graph)) + FilePlace::kNotes;
    place_.memory = {static_cast<uint8_t*>(arena_.allocate(bytes, kModelAlignment)), bytes};
    if (arena_.exhausted()) return out_of_memory();
    place_.codes = {place_.memory.data + FilePlace::kNotes, static_cast<size_t>(count.code_bytes)};
    codes = Arena(place_.codes);
    input.codes = &codes;
  }
  Result<Graph> graph = intaglio::bake(input, arena_);
  if (!graph) return graph.error();
  place_.codes.size = codes.used();
  graph_ = *graph;
  fuse_residual(graph_, arena_);
  graph_.calibration = info;
  graph_.calibration.options = arena_.copy_name(info.options);
  behind_graph_ = arena_;
  return kNoError;
}

bool Int8Model::is_written_once(const CalibratorOptions& options) {
  return options.one_pass && !options.layer_report && (options.recover & ~recovery::kBiasCorrection) == 0 &&
         options.states_of == nullptr;
}

Error Int8Model::out_of_memory() const {
  return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(source_.output_bytes),
          static_cast<int64_t>(source_.output_bytes) + 1};
}

Error Int8Model::write_and_open() {
  if (is_written_once(source_.options)) return kNoError;
  // Layers will be changed in place: equal biases of two of them may not stay equal.
  ITG_TRY(write(FileUse::kChanging));
  return open(false);
}

Error Int8Model::write(FileUse use) {
  for (GraphNode& node : graph_.nodes)
    if (auto* const requantization = node.options.get<Requantization>()) *requantization = {};
  const auto written = is_written_once(source_.options) ? finish_model(graph_, all_ops(), arena_, place_)
                                                        : finish_model(graph_, all_ops(), arena_, use);
  if (arena_.exhausted()) return out_of_memory();
  if (!written) return as_in_fp32(written.error());
  bytes_ = *written;
  if (is_written_once(source_.options)) arena_ = behind_graph_;  // the file stands in a place of its own
  return kNoError;
}

Error Int8Model::finish() {
  if (source_.options.states_of != nullptr)
    join_states();
  else
    arena_ =
        behind_graph_;  // all that the file is made of stands before: the file that was changed, and its session, are gone
  session_memory_ = {};  // there is room for states now
  ITG_TRY(write(FileUse::kHandedOver));
  return open(true);
}

// The tensors behind the model's own inputs and outputs.
void Int8Model::join_states() {
  const Model& fp32 = source_.fp32.model;
  const Model& whole = *source_.options.states_of;
  const auto made_of = [](Span<const int32_t> ends, const Array<int32_t>& made, int32_t tensor) {
    size_t i = 0;
    while (ends[i] != tensor) ++i;
    return made[i];
  };
  for (int32_t i = 0; i < whole.state_count(); ++i) {
    const StateInfo state = whole.state(i);
    StateInfo made;
    made.input = made_of(fp32.inputs(), graph_.inputs, state.input);
    made.output = made_of(fp32.outputs(), graph_.outputs, state.output);
    made.initial = initial_value(graph_.tensors[static_cast<size_t>(made.input)], state.initial);
    graph_.states.push(arena_, made);
  }
  graph_.inputs.resize_down(whole.inputs().size);
  graph_.outputs.resize_down(whole.outputs().size);
}

// `real`: FP32 values; empty: zeros.
Span<const uint8_t> Int8Model::initial_value(const TensorInfo& state, Span<const uint8_t> real) {
  if (state.dtype == DType::kF32) return real;
  const QuantParams params{state.quantization.scales[0], state.quantization.zero_point};
  if (real.empty() && params.zero_point == 0) return {};
  const Span<uint8_t> codes = arena_.make<uint8_t>(state.bytes());
  for (size_t i = 0; i < codes.size; ++i) {
    float value = 0.0f;
    if (!real.empty()) memcpy(&value, real.data + i * sizeof value, sizeof value);
    codes[i] = static_cast<uint8_t>(quantize_value(value, params));
  }
  return codes;
}

Error Int8Model::update_layer(int32_t n) {
  revision_ = ++last_revision_;
  if (bytes_.empty()) return kNoError;  // the graph has it
  const Error error = refresh_layer(n);
  return error.status == Status::kPersistentTooSmall ? open(false) : error;  // another kernel now
}

Error Int8Model::update_layers() {
  revision_ = ++last_revision_;
  if (bytes_.empty()) return kNoError;
  Error errors[kMaxLanes];
  bool changed[kMaxLanes] = {};  // another kernel now
  const int32_t nodes = static_cast<int32_t>(graph_.nodes.size()), lanes = source_.fp32.lane_count;
  parallel_for(source_.fp32.executor, lanes, [&](int32_t lane) {
    for (int32_t n = lane; n < nodes; n += lanes) {
      if (weight_rule(graph_, n) == nullptr) continue;
      const Error error = refresh_layer(n);
      if (error.status == Status::kPersistentTooSmall)
        changed[lane] = true;
      else if (errors[lane].ok())
        errors[lane] = error;
    }
  });
  bool any_changed = false;
  for (int32_t lane = 0; lane < lanes; ++lane) {
    ITG_TRY(errors[lane]);
    any_changed = any_changed || changed[lane];
  }
  return any_changed ? open(false) : kNoError;
}

Error Int8Model::refresh_layer(int32_t n) {
  const QuantRule& rule = *weight_rule(graph_, n);
  const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
  const NodeInfo in_file = session_.model().node(n);
  for (const int8_t slot : {rule.weight_input, rule.bias_input}) {
    const auto i = static_cast<size_t>(slot);
    const TensorInfo& now = graph_.tensors[static_cast<size_t>(node.inputs[i])];
    const TensorInfo before = session_.model().tensor(in_file.inputs[i]);
    overwrite(before.constant, now.constant.data);
    overwrite(before.quantization.scales, now.quantization.scales.data);
  }
  const auto& written = in_file.options.as<Requantization>();
  refill_requantization(graph_, node, rule,
                        {const_cast<float*>(written.multiplier.data), written.multiplier.size},
                        {const_cast<int32_t*>(written.folded_bias.data), written.folded_bias.size});
  return as_in_fp32(session_.prepare_node(n));
}

// The first call makes the memory, later ones use it again. Only a file that is handed over needs its checksum looked at:
// nobody else has had the bytes, and layers change in place.
Error Int8Model::open(bool checks_sum) {
  OpenOptions open;
  open.skip_checksum = !checks_sum;
  const Result<Model> model = Model::open(bytes_, open);
  if (!model) return as_in_fp32(model.error());
  SessionOptions options;
  options.isa = source_.fp32.isa;
  options.executor = source_.fp32.executor;
  // Weights are packed anew with each change, and memory is counted by the model's.
  const Result<SessionNeeds> needs = Session::measure_anywhere(*model, compact_ops(), options);
  if (!needs) return as_in_fp32(needs.error());
  const size_t own_bytes = align_memory(needs->total());
  const uint64_t all = own_bytes + Lanes::bytes(*needs, source_.fp32.lane_count);
  const auto bytes = static_cast<size_t>(all);
  if (session_memory_.size < all) {
    session_memory_ = {
        static_cast<uint8_t*>(bytes == all ? arena_.allocate(bytes, kMemoryAlignment) : nullptr), bytes};
    if (session_memory_.data == nullptr)
      return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(arena_.left()), static_cast<int64_t>(all)};
  }
  const SessionMemory own = Session::split(session_memory_, *needs);
  lanes_ = Lanes(own, {session_memory_.data + own_bytes, session_memory_.size - own_bytes});
  const Result<Session> session = Session::create(*model, compact_ops(), own, options);
  if (!session) return as_in_fp32(session.error());
  session_ = *session;
  return kNoError;
}

namespace {

// The activations of the int8 model, in the forms that its nodes read and write.
class ActivationCount {
 public:
  ActivationCount(const Model& fp32, const CalibratorOptions& options)
      : fp32_(fp32),
        options_(options),
        changes_params_(sets_slots(options) || options.compat != Compat::kNone) {}

  // The most that their plan may take: what is needed at once, worse by as much as the FP32 model's plan is,
  // and no more than all of them side by side.
  uint64_t most() {
    for (const int32_t input : fp32_.inputs()) add(input, -1);
    for (int32_t n = 0; n < fp32_.node_count(); ++n) {
      for (const int32_t output : fp32_.node_outputs(n)) add(output, n);
      const Span<const int32_t> inputs = fp32_.node_inputs(n);
      for (size_t i = 0; i < inputs.size; ++i) {
        bool is_repeated = inputs[i] < 0;
        for (size_t k = 0; k < i; ++k) is_repeated = is_repeated || inputs[k] == inputs[i];
        if (!is_repeated && !fp32_.tensor(inputs[i]).is_constant()) drop_behind(inputs[i], n);
      }
      for (const int32_t output : fp32_.node_outputs(n)) drop_behind(output, n);
    }
    // No plan of 62 published networks takes more than what is needed at once times `worse`.
    constexpr double kMargin = 1.1;
    constexpr uint64_t kFew = 2048;
    const auto planned = static_cast<double>(fp32_.activation_bytes());
    const auto crowd = static_cast<double>(fp32_.activation_lower_bound());
    const double worse = crowd > 0.0 && planned > crowd ? planned / crowd : 1.0;
    const uint64_t bytes = static_cast<uint64_t>(kMargin * worse * static_cast<double>(peak_)) + kFew;
    return bytes < all_ ? bytes : all_;
  }

 private:
  void add(int32_t tensor, int32_t writer) {
    const uint64_t bytes = bytes_of(tensor, writer);
    alive_ += bytes;
    all_ += bytes;
    peak_ = alive_ > peak_ ? alive_ : peak_;
  }
  void drop_behind(int32_t tensor, int32_t n) {
    const int32_t writer = writer_of(fp32_, tensor);
    if (last_use(fp32_, tensor, writer) == n) alive_ -= bytes_of(tensor, writer);
  }

  // A model input is in codes where its first reader is.
  bool is_in_codes(int32_t tensor, int32_t writer) const {
    if (writer >= 0) return writes_codes(fp32_, writer, options_);
    for (int32_t n = 0; n < fp32_.node_count(); ++n)
      for (const int32_t input : fp32_.node_inputs(n))
        if (input == tensor)
          return becomes_int8(fp32_, n, options_) && !is_wide(fp32_, n, options_) &&
                 options_.states_of == nullptr;
    return true;
  }
  uint64_t bytes_of(int32_t tensor, int32_t writer) const {
    constexpr uint64_t kReal = 4, kByte = 1, kWide = 2;
    const TensorInfo info = fp32_.tensor(tensor);
    const bool in_codes = info.dtype == DType::kF32 && is_in_codes(tensor, writer);
    // A node that computes in 16 bits has what it writes in several forms.
    const bool wide = writer >= 0 && is_wide(fp32_, writer, options_);
    uint64_t forms = in_codes ? kByte + (wide ? 2 * kWide : 0) : kReal;
    bool read_as_real = false, read_as_wide = false;
    uint64_t as_codes = 0;  // how often one node reads it with other parameters
    const int32_t end = last_use(fp32_, tensor, writer);
    for (int32_t n = writer + 1; n <= end && n < fp32_.node_count(); ++n) {
      uint64_t reads = 0;
      for (const int32_t input : fp32_.node_inputs(n)) reads += input == tensor ? 1 : 0;
      if (reads == 0) continue;
      const bool int8 = becomes_int8(fp32_, n, options_);
      read_as_real = read_as_real || !int8;
      read_as_wide = read_as_wide || (int8 && is_wide(fp32_, n, options_));
      const bool other_params = int8 && (!in_codes || changes_params_ || joins(fp32_, n));
      as_codes = other_params && reads > as_codes ? reads : as_codes;
    }
    if (in_codes && (read_as_real || (wide && end == fp32_.node_count()))) forms += kReal;
    if (read_as_wide) forms += kByte + kWide;
    forms += as_codes * kByte;
    constexpr uint64_t kOthers = 4;
    return forms * static_cast<uint64_t>(info.shape.elements()) + (kOthers + as_codes) * kTensorAlignment;
  }

  const Model& fp32_;
  const CalibratorOptions& options_;
  bool changes_params_;
  uint64_t alive_ = 0, peak_ = 0, all_ = 0;
};

// The session of the int8 model, and its other lanes.
Result<uint64_t> count_session(const Model& fp32, const CalibratorOptions& options, const GraphCount& graph) {
  SessionOptions session;
  session.isa = options.isa;
  session.executor = options.executor;
  uint64_t packed = 0, scratch = 0;
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const NodeView node{n, fp32.node(n), &fp32, nullptr, true};
    const bool in_codes = becomes_int8(fp32, n, options);
    const Op answer = in_codes ? answer_op(fp32, n, options) : Op::kNone;
    const DType written = answer != Op::kNone         ? DType::kF32
                          : is_wide(fp32, n, options) ? DType::kS16
                                                      : DType::kS8;
    const Op as = answer != Op::kNone ? answer : node.info.op;
    const Result<NodePlan> plan =
        in_codes ? codes_memory(node, as, written, session) : float_memory(node, session);
    if (!plan) return plan.error();
    packed += align_memory(uint64_t{plan->persistent_bytes});
    scratch = plan->scratch_bytes > scratch ? plan->scratch_bytes : scratch;
  }
  const uint64_t check = kOverlapBytes * graph.tensors,
                 records = align_memory(sizeof(PlannedNode) * graph.nodes);
  const uint64_t lane = align_memory(ActivationCount(fp32, options).most()) + align_memory(scratch);
  return records + align_memory(packed > check ? packed : check) +
         static_cast<uint64_t>(lane_count(options.executor)) * lane + 2 * kMemoryAlignment;
}

}  // namespace

Result<uint64_t> Int8Model::bytes(const Model& fp32, const CalibratorOptions& options, uint64_t in_between) {
  const BakeCount baked = count_bake(fp32, options);
  const uint64_t changing = finish_model_bytes(baked.graph, FileUse::kChanging),
                 handed_over = finish_model_bytes(baked.graph, FileUse::kHandedOver);
  uint64_t file = changing > handed_over ? changing : handed_over;
  const Result<uint64_t> session = count_session(fp32, options, baked.graph);
  if (!session) return session.error();
  uint64_t sessions = *session;
  if (is_written_once(options)) {  // behind the graph stands one thing after another
    const uint64_t own_place = file_bytes(baked.graph),
                   place = FilePlace::kNotes + own_place + kModelAlignment,
                   lists = handed_over - own_place + baked.requantization_bytes;
    uint64_t last = in_between > lists ? in_between : lists;
    last = last > sessions ? last : sessions;
    return baked.bytes - baked.code_bytes - baked.requantization_bytes + place + last;
  }
  if (options.states_of != nullptr) {  // a file and a session for its steps, and those with states
    const Model& whole = *options.states_of;
    file += handed_over;
    sessions *= 2;
    for (int32_t i = 0; i < whole.state_count(); ++i)
      sessions +=
          sizeof(StateInfo) + 4 * uint64_t{whole.tensor(whole.state(i).input).bytes()} + kMemoryAlignment;
  }
  return baked.bytes + file + sessions + in_between;
}

const QuantRule* weight_rule(const Graph& graph, int32_t node) {
  const GraphNode& n = graph.nodes[static_cast<size_t>(node)];
  const int32_t index = find_op_index(int8_ops(), signature_of(graph, n));
  if (index == kNoOp || int8_ops()[static_cast<size_t>(index)]->quant.weight_input < 0) return nullptr;
  return &int8_ops()[static_cast<size_t>(index)]->quant;
}

}  // namespace intaglio
