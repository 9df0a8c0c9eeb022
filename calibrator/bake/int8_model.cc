#include "calibrator/bake/int8_model.h"

#include "calibrator/bake/fuse_residual.h"
#include "calibrator/bake/model_writer.h"
#include "calibrator/recover/recovery.h"
#include "intaglio/version.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

constexpr const char* kLibraryVersion = ITG_VERSION;
constexpr const char* kMethodNames[kRangeMethodCount] = {"auto", "minmax", "percentile", "mse", "kl", "aciq"};

// Short texts one behind the other.
class Text {
 public:
  void add(const char* words) {
    while (*words != '\0' && length_ < sizeof text_) text_[length_++] = *words++;
  }
  const char* copy(Arena& arena) const { return arena.copy_name(text_, length_); }

 private:
  char text_[160];
  size_t length_ = 0;
};

template <typename T>
void overwrite(Span<const T> target, const void* source) {
  if (!target.empty()) memcpy(const_cast<T*>(target.data), source, target.size * sizeof(T));
}

}  // namespace

// The user's file is the FP32 model: its names, and its numbers.
Error Int8Model::as_in_fp32(Error error) const {
  const Model& fp32 = memory_->model;
  const char* tensor = nullptr;
  if (error.tensor >= 0 && error.tensor < static_cast<int32_t>(graph_.tensors.size()))
    tensor = graph_.tensors[static_cast<size_t>(error.tensor)].name;
  if (error.node >= 0 && error.node < static_cast<int32_t>(graph_.nodes.size())) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(error.node)];
    error.node = node.source;
    // What stands at a border of FP32, or gives codes another scale, is no node of that file; what it writes
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

Error Int8Model::build() {
  revision_ = ++last_revision_;
  arena_ = empty_;
  session_memory_ = {};
  SlotMap slots = memory_->slots;  // a handle: weights and biases get their scales in place
  Result<Graph> graph = bake({&memory_->model, &slots, &memory_->options}, arena_);
  if (!graph) return graph.error();
  graph_ = *graph;
  fuse_residual(graph_, arena_);
  set_provenance();
  ITG_TRY(write(arena_, &bytes_));
  return open(false);
}

void Int8Model::set_provenance() {
  const CalibratorOptions& options = memory_->options;
  Text text;
  text.add(options.symmetric ? "symmetric" : "asymmetric");
  if (options.power_of_two) text.add(", powers of two");
  if (options.compat != Compat::kNone) text.add(options.compat == Compat::kPpq ? ", as PPQ" : ", as Tengine");
  const char digits[] = {static_cast<char>('0' + options.weight_bits / 10),
                         static_cast<char>('0' + options.weight_bits % 10), '\0'};
  text.add(", ");
  text.add(options.weight_bits < 10 ? digits + 1 : digits);
  text.add("-bit weights");
  if (options.safe_pairs) text.add(" in safe pairs");
  if (!options.slots.empty()) text.add(", slots with settings of their own");
  if (!options.known.empty()) text.add(", known parameters");
  bool recovers = false;
  for (const RecoveryRule& rule : recovery_rules()) {
    if ((options.recover & rule.bit) == 0) continue;
    text.add(", ");
    text.add(rule.title);
    recovers = true;
  }
  if (!recovers) text.add(", no recovery");
  if (memory_->channels_scaled) {
    text.add(", ");
    text.add(kChannelsScaled);
  }
  if (memory_->channels_shifted) {
    text.add(", ");
    text.add(kChannelsShifted);
  }
  if (!options.float_nodes.empty()) text.add(", some nodes in float");
  if (options.provenance != nullptr) {
    graph_.calibration = *options.provenance;
    return;
  }
  graph_.calibration.library_version = kLibraryVersion;
  graph_.calibration.method = kMethodNames[static_cast<size_t>(options.method)];
  graph_.calibration.options = text.copy(arena_);
  graph_.calibration.samples = memory_->seen.sample_count;
  graph_.calibration.samples_digest = {memory_->seen.samples.bytes, sizeof memory_->seen.samples.bytes};
}

Error Int8Model::write(Arena& arena, Span<const uint8_t>* bytes) {
  for (GraphNode& node : graph_.nodes) {
    node.options.multiplier = {};
    node.options.folded_bias = {};
  }
  // Layers are changed in place: equal biases of two of them will not stay equal.
  const auto written = finish_model(graph_, all_ops(), arena, EqualConstants::kStandAlone);
  if (arena.exhausted())
    return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(memory_->output.size),
            static_cast<int64_t>(memory_->output.size) + 1};
  if (!written) return as_in_fp32(written.error());
  *bytes = *written;
  return kNoError;
}

Error Int8Model::rewrite() {
  Arena scratch = arena_;
  Span<const uint8_t> bytes;
  ITG_TRY(write(scratch, &bytes));
  // Only numbers have changed, so the file is as long as it was and stays where it is.
  if (bytes.size != bytes_.size)
    return {Status::kReplayDiffers, -1, -1, static_cast<int64_t>(bytes.size),
            static_cast<int64_t>(bytes_.size)};
  overwrite(bytes_, bytes.data);
  return open(false);
}

Error Int8Model::update_layer(int32_t n) {
  revision_ = ++last_revision_;
  const Error error = refresh_layer(n);
  return error.status == Status::kPersistentTooSmall ? open(true) : error;  // another kernel now
}

Error Int8Model::update_layers() {
  revision_ = ++last_revision_;
  Error errors[kMaxLanes];
  bool changed[kMaxLanes] = {};  // another kernel now
  const int32_t nodes = static_cast<int32_t>(graph_.nodes.size()), lanes = memory_->lane_count();
  parallel_for(memory_->options.executor, lanes, [&](int32_t lane) {
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
  return any_changed ? open(true) : kNoError;
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
  refill_requantization(
      graph_, node, rule,
      {const_cast<float*>(in_file.options.multiplier.data), in_file.options.multiplier.size},
      {const_cast<int32_t*>(in_file.options.folded_bias.data), in_file.options.folded_bias.size});
  return as_in_fp32(session_.prepare_node(n));
}

// The first call makes the memory, later ones use it again.
Error Int8Model::open(bool changed_in_place) {
  OpenOptions open;
  open.skip_checksum = changed_in_place;
  const Result<Model> model = Model::open(bytes_, open);
  if (!model) return as_in_fp32(model.error());
  SessionOptions options;
  options.isa = memory_->options.isa;
  options.executor = memory_->options.executor;
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops(), options);
  if (!needs) return as_in_fp32(needs.error());
  const size_t own_bytes = align_memory(needs->total());
  const uint64_t all = own_bytes + Lanes::bytes(*needs, memory_->lane_count());
  const auto bytes = static_cast<size_t>(all);
  if (session_memory_.size < all) {
    session_memory_ = {
        static_cast<uint8_t*>(bytes == all ? arena_.allocate(bytes, kMemoryAlignment) : nullptr), bytes};
    if (session_memory_.data == nullptr)
      return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(arena_.left()), static_cast<int64_t>(all)};
  }
  const SessionMemory own = Session::split(session_memory_, *needs);
  lanes_ = Lanes(own, {session_memory_.data + own_bytes, session_memory_.size - own_bytes});
  const Result<Session> session = Session::create(*model, all_ops(), own, options);
  if (!session) return as_in_fp32(session.error());
  session_ = *session;
  return kNoError;
}

int32_t Int8Model::tensor_like(int32_t fp32_tensor) const {
  const char* const name = memory_->model.tensor(fp32_tensor).name;
  const Model& model = session_.model();
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    if (strcmp(model.tensor(t).name, name) == 0) return t;
  return -1;
}

const QuantRule* weight_rule(const Graph& graph, int32_t node) {
  const GraphNode& n = graph.nodes[static_cast<size_t>(node)];
  const int32_t index = find_op_index(int8_ops(), form_of(graph, n));
  if (index == kNoOp || int8_ops()[static_cast<size_t>(index)]->quant.weight_input < 0) return nullptr;
  return &int8_ops()[static_cast<size_t>(index)]->quant;
}

}  // namespace intaglio
