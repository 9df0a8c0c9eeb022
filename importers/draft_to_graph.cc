#include "importers/draft_to_graph.h"

#include <algorithm>
#include <cmath>

#include "importers/names.h"

namespace intaglio::importers {
namespace {

constexpr uint64_t kMaxExpandedBytes = uint64_t{1} << 28;

template <typename T>
Span<const T> span(const std::vector<T>& values) {
  return {values.data(), values.size()};
}

void check_operators(const Draft& draft, Problems& problems) {
  for (const DraftNode& node : draft.nodes) {
    if (node.op == kPad) {
      problems.add(label(node) +
                   ": only zero padding of height and width, less than the window of the convolution or pool "
                   "behind it, is supported");
    } else if (node.op == kBatchNorm) {
      problems.add(label(node) +
                   ": does not follow a convolution or fully connected node that could take it, and " +
                   shape_text(draft.tensor(node.input()).shape) + " is no picture");
    }
  }
}

// Which channel of a constant an element belongs to, for a message.
int64_t channel_of(const Draft& draft, const DraftNode& node, size_t input, size_t element) {
  const Shape& shape = draft.tensor(node.inputs[input]).shape;
  const bool channels_last = input != 1 || node.op == Op::kDepthwiseConv2d || shape.size() < 2;
  const auto i = static_cast<int64_t>(element);
  return channels_last ? i % shape.back() : i / (elements(shape) / shape[0]);
}

void check_constants(const Draft& draft, Problems& problems) {
  std::vector<bool> seen(draft.tensors.size(), false);
  for (const DraftNode& node : draft.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int32_t index = node.inputs[i];
      if (index < 0 || seen[static_cast<size_t>(index)]) continue;
      seen[static_cast<size_t>(index)] = true;
      const DraftTensor& tensor = draft.tensor(index);
      if (!tensor.constant || tensor.dtype != DType::kF32) continue;
      const auto values = values_of<float>(tensor);
      for (size_t e = 0; e < values.size(); ++e) {
        if (std::isfinite(values[e])) continue;
        problems.add(text(label(node), ": constant ", quoted(tensor.name), " holds ", values[e],
                          " in channel ", channel_of(draft, node, i, e),
                          "; every value must be finite: export the model again"));
        break;
      }
    }
  }
}

// Whether the runtime's Add repeats an operand of this shape: its axes behind leading ones are the output's
// last.
bool is_repeated(const Shape& operand, const Shape& output) {
  size_t rank = operand.size();
  while (rank > 0 && operand[operand.size() - rank] == 1) --rank;
  return rank <= output.size() && std::equal(operand.end() - static_cast<std::ptrdiff_t>(rank), operand.end(),
                                             output.end() - static_cast<std::ptrdiff_t>(rank));
}

std::vector<uint8_t> expanded(const DraftTensor& source, const Shape& shape) {
  const size_t size = element_bytes(source.dtype);
  std::vector<uint8_t> data(static_cast<size_t>(elements(shape)) * size);
  Shape at(shape.size(), 0);
  for (size_t to = 0; to < data.size(); to += size) {
    size_t from = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      from =
          from * static_cast<size_t>(source.shape[i]) + static_cast<size_t>(source.shape[i] == 1 ? 0 : at[i]);
    std::memcpy(&data[to], &source.data[from * size], size);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
  return data;
}

// A smaller constant operand of Add comes second; where the runtime does not repeat it, it is written out.
void expand_constants(Draft& draft, Problems& problems) {
  uint64_t written = 0;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kAdd) continue;
    const Shape shape = draft.tensor(node.output()).shape;
    if (draft.tensor(node.inputs[0]).constant) std::swap(node.inputs[0], node.inputs[1]);
    const DraftTensor source = draft.tensor(node.inputs[1]);
    if (is_repeated(source.shape, shape)) continue;
    written += static_cast<uint64_t>(elements(shape)) * element_bytes(source.dtype);
    if (!source.constant || source.shape.size() != shape.size() || written > kMaxExpandedBytes) {
      problems.add(text(label(node), ": ", quoted(source.name), " of shape ", shape_text(source.shape),
                        " cannot be added to ", shape_text(shape)));
      continue;
    }
    node.inputs[1] = add_constant_bytes(draft, source.name, source.dtype, shape, expanded(source, shape));
    draft.tensor(node.inputs[1]).scales = source.scales;
    draft.tensor(node.inputs[1]).zero_point = source.zero_point;
  }
}

void check_counts(const Draft& draft, size_t tensors, Problems& problems) {
  if (draft.nodes.empty()) problems.add("no operator is left to run: the outputs are the inputs");
  if (draft.nodes.size() > static_cast<size_t>(kMaxNodes))
    problems.add(text(draft.nodes.size(), " nodes are too many (at most ", kMaxNodes, ")"));
  if (tensors > static_cast<size_t>(kMaxTensors))
    problems.add(text(tensors, " tensors are too many (at most ", kMaxTensors, ")"));
  for (const int32_t output : draft.outputs)
    if (is_model_input(draft, output) || draft.tensor(output).constant)
      problems.add(
          text("output ", quoted(draft.tensor(output).name), " is an input or a constant, not a result"));
}

class Builder {
 public:
  Builder(const Draft& draft, Arena& arena)
      : draft_(draft), arena_(arena), numbers_(draft.tensors.size(), -1) {}

  Graph build() {
    // The model's own ends keep their names whatever stands between them.
    name_ends(draft_.inputs);
    name_ends(draft_.outputs);
    for (const int32_t input : draft_.inputs) graph_.inputs.push(arena_, number(input));
    for (const DraftNode& node : draft_.nodes) add(node);
    for (const int32_t output : draft_.outputs) graph_.outputs.push(arena_, number(output));
    for (const DraftNormStatistics& entry : draft_.norm_statistics) {
      const int32_t tensor = numbers_[static_cast<size_t>(entry.tensor)];
      if (tensor < 0) continue;
      graph_.norm_statistics.push(
          arena_, {tensor, arena_.copy(span(entry.mean)), arena_.copy(span(entry.deviation))});
    }
    return graph_;
  }
  size_t tensor_count() const { return graph_.tensors.size(); }

 private:
  void name_ends(const std::vector<int32_t>& tensors) {
    for (const int32_t tensor : tensors) number(tensor);
  }

  int32_t number(int32_t index) {
    if (index < 0) return -1;
    int32_t& number = numbers_[static_cast<size_t>(index)];
    if (number >= 0) return number;
    const DraftTensor& tensor = draft_.tensor(index);
    const std::string name = tensor_names_.take(tensor.name);
    number = tensor.constant ? add_constant(graph_, arena_, name.c_str(), tensor.dtype, span(tensor.shape),
                                            span(tensor.data))
                             : add_tensor(graph_, arena_, name.c_str(), tensor.dtype, span(tensor.shape));
    Quantization& quantization = graph_.tensors[static_cast<size_t>(number)].quantization;
    quantization.scales = arena_.copy(span(tensor.scales));
    quantization.zero_point = tensor.zero_point;
    quantization.axis = tensor.axis;
    return number;
  }

  void add(const DraftNode& node) {
    std::vector<int32_t> inputs, outputs;
    for (const int32_t input : node.inputs) inputs.push_back(number(input));
    for (const int32_t output : node.outputs) outputs.push_back(number(output));
    while (!inputs.empty() && inputs.back() < 0) inputs.pop_back();
    const std::string name = node_names_.take(node.name);
    GraphNode& made = add_node(graph_, arena_, node.op, name.c_str(), span(inputs), span(outputs));
    made.options.window = node.window;
    made.options.groups = node.groups;
    made.options.clamp_min = node.clamp_min;
    made.options.clamp_max = node.clamp_max;
    made.options.clamp_lo = node.clamp_lo;
    made.options.clamp_hi = node.clamp_hi;
    made.options.axes = arena_.copy(span(node.axes));
  }

  const Draft& draft_;
  Arena& arena_;
  Graph graph_;
  std::vector<int32_t> numbers_;  // in the graph, of each tensor of the draft
  UniqueNames tensor_names_, node_names_;
};

}  // namespace

Graph draft_to_graph(Draft& draft, Arena& arena, Problems& problems) {
  check_operators(draft, problems);
  check_constants(draft, problems);
  expand_constants(draft, problems);
  if (!problems.empty()) return {};
  Builder builder(draft, arena);
  Graph graph = builder.build();
  check_counts(draft, builder.tensor_count(), problems);
  if (arena.exhausted()) problems.add("out of memory");
  return graph;
}

}  // namespace intaglio::importers
