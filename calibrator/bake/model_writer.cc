#include "calibrator/bake/model_writer.h"

#include "calibrator/bake/heapless_flatbuffers.h"
#include "calibrator/bake/memory_plan.h"
#include "calibrator/bake/options_writer.h"
#include "kernels/arithmetic/blocked_sum.h"
#include "runtime/crc32.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

// The terms of the longest sum of reals that a node makes, where it may go by blocks.
int64_t summed_terms(const Graph& graph, const GraphNode& node) {
  if (node.inputs[0] < 0) return 0;
  const TensorInfo& x = graph.tensors[static_cast<size_t>(node.inputs[0])];
  const TensorInfo& y = graph.tensors[static_cast<size_t>(node.outputs[0])];
  if (x.dtype != DType::kF32 || y.dtype != DType::kF32) return 0;
  switch (node.op) {
    case Op::kMean:
      return x.shape.elements() / y.shape.elements();
    case Op::kAvgPool2d: {
      const Window2d& window = node.options.as<Pool2dOptions>().window;
      return int64_t{window.kernel_h} * window.kernel_w;
    }
    case Op::kSoftmax:
    case Op::kL2Normalize:
      return x.shape.back(0);
    case Op::kNormalize: {
      constexpr int64_t kLanes = 16;  // of channels
      const auto& options = node.options.as<NormalizeOptions>();
      const int64_t places = options.over_map ? x.shape.elements(1, x.shape.rank - 1) : 1;
      const int64_t in_lane =
          (x.shape.back(0) / (options.groups > 0 ? options.groups : 1) + kLanes - 1) / kLanes;
      return places > in_lane ? places : in_lane;
    }
    default:
      return 0;
  }
}

// Whether blocks change a sum: a file without such a sum does not say how it adds up.
bool sums_in_blocks(const Graph& graph) {
  if (!graph.blocked_sums) return false;
  for (const GraphNode& node : graph.nodes)
    if (summed_terms(graph, node) > kSumBlock) return true;
  return false;
}

// The format that a reader must know for this graph. Readers of format 2 add up in one chain and know no summand behind a root,
// those of format 1 fill the borders of a letterbox with the usual pixel.
uint16_t least_reader(const Graph& graph) {
  if (sums_in_blocks(graph)) return 3;
  for (const GraphNode& node : graph.nodes)
    if (node.options.value<NormalizeOptions>().root_epsilon != 0.0f) return 3;
  for (const ImageInput& image : graph.images)
    if (image.resize == ResizeMode::kLetterbox && image.border != kUsualBorder) return 2;
  return 1;
}

// Finds constants of the same bytes, so that weights which several nodes use stand in a file once.
class SharedConstants {
 public:
  // Room for `most` constants of the graph; an exhausted arena gives an object that must not be used.
  SharedConstants(const Graph& graph, Arena& arena, size_t most) : graph_(graph) {
    size_t places = 1;
    while (places < 2 * most) places *= 2;
    places_ = arena.make<int32_t>(places);
    for (int32_t& place : places_) place = -1;
  }

  // The first of the constants asked for so far that has the same bytes: `tensor` itself where none has.
  int32_t first_with_bytes_of(int32_t tensor) {
    // Few places are looked at: time stays linear in the constants' size, whatever the bytes.
    constexpr uint32_t kMostPlaces = 16;
    const Span<const uint8_t> bytes = constant(tensor);
    const uint32_t hash = crc32(0, bytes.data, bytes.size);
    for (uint32_t i = 0; i < kMostPlaces; ++i) {
      int32_t& place = places_[(hash + i) & (places_.size - 1)];
      if (place < 0) place = tensor;
      const Span<const uint8_t> other = constant(place);
      if (other.size == bytes.size && memcmp(other.data, bytes.data, bytes.size) == 0) return place;
    }
    return tensor;
  }

 private:
  Span<const uint8_t> constant(int32_t tensor) const {
    return graph_.tensors[static_cast<size_t>(tensor)].constant;
  }

  const Graph& graph_;
  Span<int32_t> places_;  // by hash: a tensor, or -1; a power of two
};

class Writer {
 public:
  // `codes_of`: the graph whose codes stand in the place, if any do.
  Writer(const Graph& graph, Arena& arena, const FilePlace& place, FileUse use, Graph* codes_of)
      : graph_(graph),
        codes_of_(codes_of),
        arena_(arena),
        use_(use),
        allocator_(place.memory.data),
        builder_(place.memory.size, &allocator_),
        codes_(place.codes.data),
        codes_end_(place.codes.data + place.codes.size) {}

  Result<Span<const uint8_t>> write() {
    number_tensors();
    const auto buffers = write_buffers();
    const auto tensors = write_tensors();
    const auto nodes = write_nodes();
    const auto inputs = indices(graph_.inputs.span());
    const auto outputs = indices(graph_.outputs.span());
    const auto states = write_states();
    const auto images = write_images();
    const auto plan = write_plan();
    const auto streamed = write_streamed_plan();
    const auto calibration = write_calibration();
    const auto statistics = write_statistics();
    const auto packs = write_packs();
    const auto answers = vector(graph_.answers);
    if (arena_.exhausted()) return Error{Status::kOutOfMemory};

    schema::ModelBuilder model(builder_);
    model.add_format_version(kFormatVersion);
    model.add_min_reader(least_reader(graph_));
    builder_.ForceDefaults(true);
    model.add_crc32(0);
    builder_.ForceDefaults(false);
    model.add_tensors(tensors);
    model.add_nodes(nodes);
    model.add_buffers(buffers);
    model.add_inputs(inputs);
    model.add_outputs(outputs);
    if (!graph_.states.empty()) model.add_states(states);
    if (!graph_.images.empty()) model.add_images(images);
    model.add_plan(plan);
    if (!graph_.streamed.offsets.empty()) model.add_streamed(streamed);
    if (*graph_.calibration.method != '\0') model.add_calibration(calibration);
    if (!graph_.norm_statistics.empty()) model.add_norm_statistics(statistics);
    if (!graph_.packs.empty()) model.add_packs(packs);
    if (!graph_.answers.empty()) model.add_answers(answers);
    model.add_memory_ceiling(graph_.memory_ceiling);
    model.add_blocked_sums(sums_in_blocks(graph_));
    const auto root = model.Finish();
    builder_.TrackMinAlign(kModelAlignment);  // no buffer may have asked for it
    schema::FinishModelBuffer(builder_, root);

    uint8_t* const bytes = builder_.GetBufferPointer();
    const size_t size = builder_.GetSize();
    if (use_ == FileUse::kHandedOver) schema::GetMutableModel(bytes)->mutate_crc32(crc32(0, bytes, size));
    return Span<const uint8_t>(bytes, size);
  }

 private:
  // The format's order: sources, then for each node the constants it is first to use and its outputs.
  void number_tensors() {
    number_ = arena_.make<int32_t>(graph_.tensors.size());
    written_ = arena_.make<int32_t>(graph_.tensors.size());
    buffer_ = arena_.make<int32_t>(graph_.tensors.size());
    if (arena_.exhausted()) return;
    for (int32_t& number : number_) number = -1;
    for (const int32_t input : graph_.inputs) number(input);
    for (const StateInfo& state : graph_.states) number(state.input);
    for (const GraphNode& node : graph_.nodes) {
      for (const int32_t input : node.inputs)
        if (input >= 0) number(input);
      for (const int32_t output : node.outputs) number(output);
    }
  }
  void number(int32_t tensor) {
    int32_t& number = number_[static_cast<size_t>(tensor)];
    if (number >= 0) return;
    number = static_cast<int32_t>(count_);
    written_[count_++] = tensor;
  }
  const TensorInfo& written(size_t i) const { return graph_.tensors[static_cast<size_t>(written_[i])]; }

  flatbuffers::Offset<flatbuffers::Vector<int32_t>> indices(Span<const int32_t> tensors) {
    const Span<int32_t> numbers = arena_.make<int32_t>(tensors.size);
    for (size_t i = 0; i < numbers.size; ++i)
      numbers[i] = tensors[i] < 0 ? -1 : number_[static_cast<size_t>(tensors[i])];
    return builder_.CreateVector(numbers.data, numbers.size);
  }
  template <typename T>
  flatbuffers::Offset<flatbuffers::Vector<T>> vector(Span<const T> values) {
    return values.empty() ? flatbuffers::Offset<flatbuffers::Vector<T>>()
                          : builder_.CreateVector(values.data, values.size);
  }
  flatbuffers::Offset<schema::Buffer> buffer(Span<const uint8_t> bytes) {
    builder_.ForceVectorAlignment(bytes.size, 1, kModelAlignment);
    if (bytes.data < codes_ || bytes.data >= codes_end_)
      return schema::CreateBuffer(builder_, builder_.CreateVector(bytes.data, bytes.size));
    // From their end on, by a copy: file and codes may overlap.
    bring_to_end(bytes);
    builder_.StartVector(bytes.size, 1);
    uint8_t piece[64];
    for (size_t left = bytes.size; left > 0;) {
      const size_t size = left < sizeof piece ? left : sizeof piece;
      codes_end_ -= size;
      left -= size;
      memcpy(piece, codes_end_, size);
      builder_.PushBytes(piece, size);
    }
    return schema::CreateBuffer(
        builder_, flatbuffers::Offset<flatbuffers::Vector<uint8_t>>(builder_.EndVector(bytes.size)));
  }

  // Codes that are needed before others which stand behind them: a fused node runs later than it did.
  void bring_to_end(Span<const uint8_t> bytes) {
    uint8_t *const first = codes_ + (bytes.data - codes_), *const behind = first + bytes.size;
    if (behind == codes_end_) return;
    const auto reverse = [](uint8_t* from, uint8_t* to) {
      while (to - from > 1) {
        const uint8_t byte = *from;
        *from++ = *--to;
        *to = byte;
      }
    };
    reverse(first, behind);
    reverse(behind, codes_end_);
    reverse(first, codes_end_);
    for (TensorInfo& tensor : codes_of_->tensors)
      if (tensor.constant.data >= behind && tensor.constant.data < codes_end_)
        tensor.constant.data -= bytes.size;
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Buffer>>> write_buffers() {
    const Span<flatbuffers::Offset<schema::Buffer>> list =
        arena_.make<flatbuffers::Offset<schema::Buffer>>(count_ + graph_.states.size());
    const bool once = use_ == FileUse::kHandedOver;
    SharedConstants shared(graph_, arena_, once ? count_ : 0);
    if (arena_.exhausted()) return {};
    // All are looked at before the first one is written, perhaps over others.
    for (size_t i = 0; i < count_; ++i) {
      if (!written(i).is_constant())
        buffer_[i] = -1;
      else
        buffer_[i] = once ? shared.first_with_bytes_of(written_[i]) : written_[i];
    }
    size_t buffers = 0;
    for (size_t i = 0; i < count_; ++i) {
      const int32_t first = buffer_[i];
      if (first < 0) continue;
      if (first == written_[i]) list[buffers++] = buffer(written(i).constant);
      buffer_[i] = first == written_[i] ? static_cast<int32_t>(buffers) - 1
                                        : buffer_[static_cast<size_t>(number_[static_cast<size_t>(first)])];
    }
    for (const StateInfo& state : graph_.states)
      if (!state.initial.empty()) list[buffers++] = buffer(state.initial);
    state_buffer_ = static_cast<int32_t>(buffers);
    for (const StateInfo& state : graph_.states) state_buffer_ -= state.initial.empty() ? 0 : 1;
    return builder_.CreateVector(list.data, buffers);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Tensor>>> write_tensors() {
    const Span<flatbuffers::Offset<schema::Tensor>> list =
        arena_.make<flatbuffers::Offset<schema::Tensor>>(count_);
    for (size_t i = 0; i < list.size; ++i) {
      const TensorInfo& tensor = written(i);
      const auto name = builder_.CreateString(tensor.name);
      const auto shape = builder_.CreateVector(tensor.shape.dims, static_cast<size_t>(tensor.shape.rank));
      flatbuffers::Offset<schema::Quantization> quantization;
      if (!tensor.quantization.scales.empty())
        quantization = schema::CreateQuantization(builder_, vector(tensor.quantization.scales),
                                                  tensor.quantization.zero_point,
                                                  static_cast<int8_t>(tensor.quantization.axis));
      const KeptChannels kept = kept_of(written_[i]);
      list[i] =
          schema::CreateTensor(builder_, name, static_cast<schema::DType>(tensor.dtype), shape, quantization,
                               buffer_[i], vector(kept.bits), static_cast<uint32_t>(kept.channels));
    }
    return builder_.CreateVector(list.data, list.size);
  }

  KeptChannels kept_of(int32_t tensor) const {
    for (const GraphKeptChannels& entry : graph_.kept_channels)
      if (entry.tensor == tensor) return entry.kept;
    return {};
  }

  flatbuffers::Offset<schema::Node> write_node(const GraphNode& node) {
    const auto name = builder_.CreateString(node.name);
    const auto inputs = indices(node.inputs);
    const auto outputs = indices(node.outputs);
    const WrittenOptions options = write_options(builder_, node.options);
    return schema::CreateNode(builder_, static_cast<schema::OpCode>(node.op), name, inputs, outputs,
                              options.type, options.table);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Node>>> write_nodes() {
    const Span<flatbuffers::Offset<schema::Node>> list =
        arena_.make<flatbuffers::Offset<schema::Node>>(graph_.nodes.size());
    for (size_t i = 0; i < list.size; ++i) list[i] = write_node(graph_.nodes[i]);
    return builder_.CreateVector(list.data, list.size);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::State>>> write_states() {
    const Span<flatbuffers::Offset<schema::State>> list =
        arena_.make<flatbuffers::Offset<schema::State>>(graph_.states.size());
    int32_t initial = state_buffer_;
    for (size_t i = 0; i < list.size; ++i) {
      const StateInfo& state = graph_.states[i];
      list[i] = schema::CreateState(builder_, number_[static_cast<size_t>(state.input)],
                                    number_[static_cast<size_t>(state.output)],
                                    state.initial.empty() ? -1 : initial++);
    }
    return builder_.CreateVector(list.data, list.size);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::ImageInput>>> write_images() {
    const Span<flatbuffers::Offset<schema::ImageInput>> list =
        arena_.make<flatbuffers::Offset<schema::ImageInput>>(graph_.images.size());
    for (size_t i = 0; i < list.size; ++i) {
      const ImageInput& image = graph_.images[i];
      const auto channels = static_cast<size_t>(image.channels);
      const auto mean = builder_.CreateVector(image.mean, channels);
      const auto norm = builder_.CreateVector(image.norm, channels);
      list[i] = schema::CreateImageInput(builder_, image.input, static_cast<schema::ColorOrder>(image.color),
                                         static_cast<schema::ResizeMode>(image.resize), mean, norm,
                                         vector(image.table), image.border);
    }
    return builder_.CreateVector(list.data, list.size);
  }

  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> write_offsets(Span<const uint32_t> of_graph) {
    const Span<uint32_t> offsets = arena_.make<uint32_t>(count_);
    for (size_t i = 0; i < offsets.size; ++i) offsets[i] = of_graph[static_cast<size_t>(written_[i])];
    return builder_.CreateVector(offsets.data, offsets.size);
  }

  flatbuffers::Offset<schema::Plan> write_plan() {
    const auto list = write_offsets(graph_.offsets);
    return schema::CreatePlan(builder_, static_cast<uint32_t>(graph_.activation_bytes), list,
                              static_cast<uint32_t>(graph_.activation_lower_bound), 0,
                              static_cast<uint32_t>(graph_.fast_bytes));
  }

  flatbuffers::Offset<schema::Plan> write_streamed_plan() {
    const GraphStreamedPlan& plan = graph_.streamed;
    if (plan.offsets.empty()) return {};
    const Span<flatbuffers::Offset<schema::Segment>> list =
        arena_.make<flatbuffers::Offset<schema::Segment>>(plan.segments.size());
    for (size_t i = 0; i < list.size; ++i) {
      const GraphSegment& segment = plan.segments[i];
      const auto strides = vector(segment.strides), leads = vector(segment.leads),
                 rows = vector(segment.rows);
      list[i] = schema::CreateSegment(builder_, segment.first, segment.band, strides, leads, rows,
                                      segment.picture_stride, segment.picture_lead, segment.picture_rows);
    }
    const auto segments = builder_.CreateVector(list.data, list.size);
    const auto offsets = write_offsets(plan.offsets);
    return schema::CreatePlan(builder_, static_cast<uint32_t>(plan.activation_bytes), offsets, 0, segments,
                              static_cast<uint32_t>(plan.fast_bytes));
  }

  flatbuffers::Offset<schema::Calibration> write_calibration() {
    const CalibrationInfo& c = graph_.calibration;
    if (*c.method == '\0') return {};
    const auto version = builder_.CreateString(c.library_version);
    const auto method = builder_.CreateString(c.method);
    const auto options = builder_.CreateString(c.options);
    return schema::CreateCalibration(builder_, version, method, options, c.samples, vector(c.samples_digest));
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::NormStatistics>>> write_statistics() {
    const Span<flatbuffers::Offset<schema::NormStatistics>> list =
        arena_.make<flatbuffers::Offset<schema::NormStatistics>>(graph_.norm_statistics.size());
    for (size_t i = 0; i < list.size; ++i) {
      const GraphNormStatistics& entry = graph_.norm_statistics[i];
      const auto mean = vector(entry.mean);
      list[i] = schema::CreateNormStatistics(builder_, number_[static_cast<size_t>(entry.tensor)], mean,
                                             vector(entry.deviation));
    }
    return builder_.CreateVector(list.data, list.size);
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::PackedWeights>>> write_packs() {
    if (graph_.packs.empty()) return {};
    const Span<flatbuffers::Offset<schema::PackedWeights>> list =
        arena_.make<flatbuffers::Offset<schema::PackedWeights>>(graph_.packs.size());
    for (size_t i = 0; i < list.size; ++i) {
      const GraphPack& pack = graph_.packs[i];
      const auto kernel = builder_.CreateString(pack.kernel);
      builder_.ForceVectorAlignment(pack.data.size, 1, kMemoryAlignment);
      list[i] = schema::CreatePackedWeights(builder_, pack.node, kernel, kPackLayout, vector(pack.data));
    }
    return builder_.CreateVector(list.data, list.size);
  }

  const Graph& graph_;
  Graph* const codes_of_;
  Arena& arena_;
  FileUse use_;
  flatbuffers::Allocator allocator_;
  flatbuffers::FlatBufferBuilder builder_;
  Span<int32_t> number_;   // graph tensor to file tensor
  Span<int32_t> written_;  // file tensor to graph tensor
  Span<int32_t> buffer_;   // file tensor to buffer
  size_t count_ = 0;
  int32_t state_buffer_ = 0;
  uint8_t *const codes_, *codes_end_;  // those that have not been written
};

size_t alignment_of(const Graph& graph) { return graph.packs.empty() ? kModelAlignment : kMemoryAlignment; }

// What a file has beside names, numbers and constants: of the model, of a tensor or another table, of a node.
constexpr size_t kModelBytes = 1024, kTensorBytes = 160, kNodeBytes = 448;

size_t file_bound(const Graph& graph) {
  constexpr size_t kVectorBytes = 32;
  size_t bytes = kModelBytes + strlen(graph.calibration.method) + strlen(graph.calibration.options) +
                 strlen(graph.calibration.library_version) + graph.calibration.samples_digest.size;
  for (const TensorInfo& tensor : graph.tensors)
    bytes += kTensorBytes + strlen(tensor.name) + tensor.constant.size + 4 * tensor.quantization.scales.size;
  for (const GraphNode& node : graph.nodes)
    bytes += kNodeBytes + strlen(node.name) +
             4 * (node.inputs.size + node.outputs.size + listed_options(node.options));
  for (const StateInfo& state : graph.states) bytes += kTensorBytes + state.initial.size;
  for (const ImageInput& image : graph.images) bytes += kTensorBytes + image.table.size;
  for (const GraphNormStatistics& entry : graph.norm_statistics)
    bytes += kTensorBytes + 4 * (entry.mean.size + entry.deviation.size);
  for (const GraphKeptChannels& entry : graph.kept_channels) bytes += 32 + entry.kept.bits.size;
  for (const GraphPack& pack : graph.packs) bytes += kTensorBytes + strlen(pack.kernel) + pack.data.size;
  if (!graph.streamed.offsets.empty()) bytes += kTensorBytes + 4 * graph.tensors.size();
  for (const GraphSegment& segment : graph.streamed.segments) bytes += kTensorBytes + 12 * segment.rows.size;
  bytes += kVectorBytes * 4 + graph.answers.size + 4 * (graph.inputs.size() + graph.outputs.size());
  return (bytes + alignment_of(graph) - 1) / alignment_of(graph) * alignment_of(graph);
}

// Sums of each output channel's weights.
void sum_weights(const TensorInfo& weights, int32_t axis, Span<int32_t> sums) {
  const int64_t channels = weights.shape[axis];
  const int64_t inner = weights.shape.elements(axis + 1, weights.shape.rank);
  const auto* codes = reinterpret_cast<const int8_t*>(weights.constant.data);
  const int64_t outer = weights.shape.elements(0, axis);
  if (inner == 1) {
    for (int64_t o = 0; o < outer; ++o, codes += channels)
      for (int64_t c = 0; c < channels; ++c) sums.data[c] += codes[c];
    return;
  }
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < channels; ++c, codes += inner) {
      int32_t sum = 0;
      for (int64_t i = 0; i < inner; ++i) sum += codes[i];
      sums.data[c] += sum;
    }
}

// The constant that `input` of a node names; nullptr where it is absent.
const TensorInfo* input_of(const Graph& graph, const GraphNode& node, int8_t input) {
  const bool there = input >= 0 && static_cast<size_t>(input) < node.inputs.size &&
                     node.inputs[static_cast<size_t>(input)] >= 0;
  return there ? &graph.tensors[static_cast<size_t>(node.inputs[static_cast<size_t>(input)])] : nullptr;
}

void fill_node(Graph& graph, GraphNode& node, const QuantRule& rule, Arena& arena) {
  const TensorInfo* const weights = input_of(graph, node, rule.weight_input);
  const TensorInfo& input = *input_of(graph, node, 0);
  const TensorInfo& output = graph.tensors[static_cast<size_t>(node.outputs[0])];
  if (weights == nullptr || weights->dtype != DType::kS8 || !weights->is_constant() ||
      input.quantization.scales.empty() ||
      (output.dtype != DType::kF32 && output.quantization.scales.empty()) ||
      weights->quantization.scales.empty() || rule.weight_axis >= weights->shape.rank)
    return;  // the operator's plan says what is wrong
  const auto channels = static_cast<size_t>(weights->shape[rule.weight_axis]);
  const Span<float> multiplier = arena.make<float>(channels);
  const Span<int32_t> folded = arena.make<int32_t>(channels);
  if (arena.exhausted()) return;
  refill_requantization(graph, node, rule, multiplier, folded);
  auto& requantization = node.options.as<Requantization>();
  requantization.multiplier = multiplier;
  requantization.folded_bias = folded;
}

}  // namespace

Result<Span<const uint8_t>> write_model(const Graph& graph, Arena& arena, FileUse use) {
  const size_t bound = file_bound(graph);
  auto* const place = static_cast<uint8_t*>(arena.allocate(bound, alignment_of(graph)));
  if (place == nullptr)
    return Error{Status::kOutOfMemory, -1, -1, static_cast<int64_t>(arena.left()),
                 static_cast<int64_t>(bound)};
  return Writer(graph, arena, {{place, bound}, {place, 0}}, use, nullptr).write();
}

void fill_requantization(Graph& graph, OpList ops, Arena& arena) {
  for (GraphNode& node : graph.nodes) {
    const int32_t index = find_op_index(ops, signature_of(graph, node));
    if (index == kNoOp || !node.options.value<Requantization>().multiplier.empty()) continue;
    const QuantRule& rule = ops[static_cast<size_t>(index)]->quant;
    if (rule.weight_input >= 0) fill_node(graph, node, rule, arena);
  }
}

void refill_requantization(const Graph& graph, const GraphNode& node, const QuantRule& rule,
                           Span<float> multiplier, Span<int32_t> folded) {
  const TensorInfo& weights = *input_of(graph, node, rule.weight_input);
  const TensorInfo* const bias = input_of(graph, node, rule.bias_input);
  const TensorInfo& input = *input_of(graph, node, 0);
  const TensorInfo& output = graph.tensors[static_cast<size_t>(node.outputs[0])];
  const size_t channels = multiplier.size;
  const float in_scale = input.quantization.scales[0];
  float out_scale = 1.0f;  // of a sum that leaves in FP32
  if (input_of(graph, node, rule.residual_input) != nullptr)
    out_scale = node.options.as<Intermediate>().scale;
  else if (output.dtype != DType::kF32)
    out_scale = output.quantization.scales[0];
  for (int32_t& sum : folded) sum = 0;
  sum_weights(weights, rule.weight_axis, folded);
  const bool per_channel = weights.quantization.scales.size == channels;
  for (size_t c = 0; c < channels; ++c) {
    const float product = in_scale * weights.quantization.scales[per_channel ? c : 0];
    multiplier[c] = product / out_scale;
    int32_t b = 0;
    if (bias != nullptr && bias->constant.size == 4 * channels) memcpy(&b, bias->constant.data + 4 * c, 4);
    folded[c] = static_cast<int32_t>(b - int64_t{input.quantization.zero_point} * folded[c]);
  }
}

// Lists of remove_dead(), of the plan and of the writer, and the file.
uint64_t finish_model_bytes(const GraphCount& count, FileUse use) {
  uint64_t places = use == FileUse::kHandedOver ? 2 : 0;  // of equal constants
  while (places != 0 && places < 2 * count.tensors) places *= 2;
  const uint64_t of_tensors = count.tensors * (sizeof(bool) + 6 * sizeof(int32_t)),
                 of_nodes = count.nodes * sizeof(int32_t);
  return of_tensors + of_nodes + 4 * (places + count.indices) + plan_memory_bytes(count.tensors) +
         file_bytes(count) + kModelAlignment;
}

uint64_t file_bytes(const GraphCount& count) {
  const uint64_t bytes =
      kModelBytes + count.tensors * kTensorBytes + count.nodes * kNodeBytes + count.bytes();
  return (bytes + kModelAlignment - 1) / kModelAlignment * kModelAlignment;
}

Result<Span<const uint8_t>> finish_model(Graph& graph, OpList ops, Arena& arena, FileUse use) {
  remove_dead(graph, arena);
  fill_requantization(graph, ops, arena);
  ITG_TRY(plan_memory(graph, ops, arena));
  return write_model(graph, arena, use);
}

Result<Span<const uint8_t>> finish_model(Graph& graph, OpList ops, Arena& arena, const FilePlace& place) {
  remove_dead(graph, arena);
  fill_requantization(graph, ops, arena);
  ITG_TRY(plan_memory(graph, ops, arena));
  const size_t bound = file_bound(graph);
  if (bound + FilePlace::kNotes >
      place.memory.size)  // file_bytes() counted too little: a fault of ours, never a crash
    return Error{Status::kOutOfMemory, -1, -1, static_cast<int64_t>(place.memory.size),
                 static_cast<int64_t>(bound)};
  return Writer(graph, arena, place, FileUse::kHandedOver, &graph).write();
}

}  // namespace intaglio
