#include "calibrator/bake/graph.h"

#include <cstring>

#include "runtime/option_fields.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

template <typename T>
void mark(Span<bool> needed, const T& indices) {
  for (const int32_t index : indices)
    if (index >= 0) needed[static_cast<size_t>(index)] = true;
}

bool any_needed(Span<bool> needed, Span<const int32_t> indices) {
  for (const int32_t index : indices)
    if (needed[static_cast<size_t>(index)]) return true;
  return false;
}

void renumber(Span<const int32_t> numbers, Span<int32_t> indices) {
  for (int32_t& index : indices)
    if (index >= 0) index = numbers[static_cast<size_t>(index)];
}

// Entries of tensors that are left, with their new numbers.
template <typename Entry>
void keep_entries(Span<const int32_t> numbers, Array<Entry>& entries) {
  size_t kept = 0;
  for (Entry entry : entries) {
    entry.tensor = numbers[static_cast<size_t>(entry.tensor)];
    if (entry.tensor >= 0) entries[kept++] = entry;
  }
  entries.resize_down(kept);
}

// Puts what change(list) gives in the place of each list of struct `number` of options.
template <typename Change>
void for_each_list(uint32_t number, uint8_t* options, const Change& change) {
  for (uint32_t i = kFirstOptionField[number]; i < kFirstOptionField[number + 1]; ++i) {
    const OptionField& field = kOptionFields[i];
    uint8_t* const place = options + field.place;
    if (field.kind == kOptionPart) for_each_list(field.what, place, change);
    if (field.kind != kOptionList) continue;
    Span<const uint32_t> list;
    memcpy(&list, place, sizeof list);
    list = change(list);
    memcpy(place, &list, sizeof list);
  }
}

}  // namespace

int32_t add_tensor(Graph& graph, Arena& arena, const char* name, DType dtype, Span<const int32_t> dims) {
  TensorInfo info;
  info.name = arena.copy_name(name);
  info.dtype = dtype;
  info.shape = {arena.copy(dims).data, static_cast<int32_t>(dims.size)};
  graph.tensors.push(arena, info);
  return static_cast<int32_t>(graph.tensors.size()) - 1;
}

int32_t add_constant(Graph& graph, Arena& arena, const char* name, DType dtype, Span<const int32_t> dims,
                     Span<const uint8_t> bytes) {
  const int32_t index = add_tensor(graph, arena, name, dtype, dims);
  auto* const place = static_cast<uint8_t*>(arena.allocate(bytes.size, kTensorAlignment));
  if (place == nullptr || index < 0) return index;
  memcpy(place, bytes.data, bytes.size);
  graph.tensors[static_cast<size_t>(index)].constant = {place, bytes.size};
  return index;
}

GraphNode& add_node(Graph& graph, Arena& arena, Op op, const char* name, Span<const int32_t> inputs,
                    Span<const int32_t> outputs) {
  GraphNode node;
  node.op = op;
  node.options = NodeOptions(op);
  node.name = arena.copy_name(name);
  node.inputs = arena.copy(inputs);
  node.outputs = arena.copy(outputs);
  return graph.nodes.push(arena, node);
}

OpSignature signature_of(const Graph& graph, const GraphNode& node) {
  const auto dtype = [&](int32_t tensor) { return graph.tensors[static_cast<size_t>(tensor)].dtype; };
  const int32_t input = node.inputs.empty() ? -1 : node.inputs[0];
  return {node.op, input < 0 ? DType::kNone : dtype(input), dtype(node.outputs[0])};
}

NodeOptions copy_options(const NodeOptions& options, Arena& arena) {
  NodeOptions copy = options;
  if (copy.kind() == OptionsKind::kNone) return copy;
  for_each_list(OptionBytes::number(copy), OptionBytes::of(copy),
                [&arena](Span<const uint32_t> list) { return Span<const uint32_t>(arena.copy(list)); });
  return copy;
}

size_t listed_options(const NodeOptions& options) {
  size_t count = 0;
  if (options.kind() == OptionsKind::kNone) return count;
  NodeOptions copy = options;
  for_each_list(OptionBytes::number(copy), OptionBytes::of(copy), [&count](Span<const uint32_t> list) {
    count += list.size;
    return list;
  });
  return count;
}

Graph graph_of(const Model& model, Arena& arena) {
  Graph graph;
  graph.tensors.reserve(arena, static_cast<size_t>(model.tensor_count()));
  for (int32_t i = 0; i < model.tensor_count(); ++i) {
    graph.tensors.push(arena, model.tensor(i));
    if (const KeptChannels kept = model.kept_channels(i); kept.channels > 0)
      graph.kept_channels.push(arena, {i, kept});
  }
  graph.nodes.reserve(arena, static_cast<size_t>(model.node_count()));
  for (int32_t i = 0; i < model.node_count(); ++i) {
    const NodeInfo info = model.node(i);
    graph.nodes.push(
        arena, {info.op, info.name, arena.copy(info.inputs), arena.copy(info.outputs), info.options, i});
  }
  for (const int32_t input : model.inputs()) graph.inputs.push(arena, input);
  for (const int32_t output : model.outputs()) graph.outputs.push(arena, output);
  for (int32_t i = 0; i < model.state_count(); ++i) graph.states.push(arena, model.state(i));
  for (int32_t i = 0; i < model.image_count(); ++i) {
    graph.images.push(arena, model.image(i));
  }
  graph.calibration = model.calibration();
  graph.answers = model.answers();
  graph.memory_ceiling = model.memory_ceiling();
  graph.blocked_sums = model.blocked_sums();
  return graph;
}

Error copy_plans(const Model& model, Graph& graph, Arena& arena) {
  graph.offsets = arena.make<uint32_t>(graph.tensors.size());
  for (size_t i = 0; i < graph.offsets.size; ++i)
    graph.offsets[i] = model.activation_offset(static_cast<int32_t>(i));
  graph.activation_bytes = model.activation_bytes();
  graph.fast_bytes = model.fast_bytes();
  graph.activation_lower_bound = model.activation_lower_bound();
  const Result<Model> streamed = StreamedModel::open(model);
  if (!model.has_streamed_plan() || !streamed) return streamed.error();
  graph.streamed.offsets = arena.make<uint32_t>(graph.tensors.size());
  for (size_t i = 0; i < graph.streamed.offsets.size; ++i)
    graph.streamed.offsets[i] = streamed->activation_offset(static_cast<int32_t>(i));
  graph.streamed.activation_bytes = streamed->activation_bytes();
  graph.streamed.fast_bytes = streamed->fast_bytes();
  for (int32_t s = 0; s < StreamedModel::segment_count(*streamed); ++s) {
    const SegmentInfo segment = StreamedModel::segment(*streamed, s);
    graph.streamed.segments.push(arena,
                                 {segment.first, segment.band, segment.strides, segment.leads, segment.rows,
                                  segment.picture_stride, segment.picture_lead, segment.picture_rows});
  }
  return kNoError;
}

void remove_dead(Graph& graph, Arena& arena) {
  const Span<bool> needed = arena.make<bool>(graph.tensors.size());
  const Span<int32_t> numbers = arena.make<int32_t>(graph.tensors.size());
  if (needed.size != graph.tensors.size() || numbers.size != needed.size) return;
  mark(needed, graph.inputs);
  mark(needed, graph.outputs);
  for (const StateInfo& state : graph.states)
    needed[static_cast<size_t>(state.input)] = needed[static_cast<size_t>(state.output)] = true;

  // Backwards: a node is needed when something after it reads what it writes.
  size_t kept = graph.nodes.size();
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!any_needed(needed, graph.nodes[i].outputs)) continue;
    mark(needed, graph.nodes[i].outputs);
    mark(needed, graph.nodes[i].inputs);
    graph.nodes[--kept] = graph.nodes[i];
  }
  for (size_t i = kept; i < graph.nodes.size(); ++i) graph.nodes[i - kept] = graph.nodes[i];
  graph.nodes.resize_down(graph.nodes.size() - kept);

  size_t count = 0;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    numbers[i] = needed[i] ? static_cast<int32_t>(count) : -1;
    if (needed[i]) graph.tensors[count++] = graph.tensors[i];
  }
  graph.tensors.resize_down(count);
  for (GraphNode& node : graph.nodes) {
    renumber(numbers, node.inputs);
    renumber(numbers, node.outputs);
  }
  renumber(numbers, graph.inputs.span());
  renumber(numbers, graph.outputs.span());
  for (StateInfo& state : graph.states) {
    state.input = numbers[static_cast<size_t>(state.input)];
    state.output = numbers[static_cast<size_t>(state.output)];
  }
  keep_entries(numbers, graph.norm_statistics);
  keep_entries(numbers, graph.kept_channels);
  graph.offsets = {};
}

}  // namespace intaglio
