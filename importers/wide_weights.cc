#include "importers/wide_weights.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "importers/draft/names.h"

namespace intaglio {
namespace {

// How many int8 weights sum to one.
int32_t parts_of(int32_t code) {
  int32_t parts = 1;
  for (; code < -128 || code > 127; ++parts) code -= std::clamp(code, -128, 127);
  return parts;
}

// One of them; 0 behind the last.
int32_t part_of(int32_t code, int32_t i) {
  for (; i > 0; --i) code -= std::clamp(code, -128, 127);
  return std::clamp(code, -128, 127);
}

// A number of the new weights: a part of an old one. Element -1: 0.
struct Part {
  int64_t element = -1;
  int32_t i = 0;
};

template <typename T>
Span<const T> span(const std::vector<T>& values) {
  return {values.data(), values.size()};
}
template <typename T>
Span<const uint8_t> bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}
template <typename T>
std::vector<T> values_of(const TensorInfo& info) {
  std::vector<T> values(static_cast<size_t>(info.shape.elements()));
  memcpy(values.data(), info.constant.data, values.size() * sizeof(T));
  return values;
}

class Splitting {
 public:
  Splitting(Graph& graph, Arena& arena, const std::vector<WideLayer>& layers)
      : graph_(graph), arena_(arena), of_(graph.nodes.size(), nullptr) {
    for (const GraphNode& node : graph.nodes) note_readers(node);
    for (const int32_t output : graph.outputs) read_as_is_.insert(output);
    for (const StateInfo& state : graph.states) read_as_is_.insert(state.output);
    std::set<int32_t> taken_apart;
    for (const WideLayer& layer : layers) {
      of_[static_cast<size_t>(layer.node)] = &layer;
      const GraphNode& node = graph.nodes[static_cast<size_t>(layer.node)];
      if (node.op == Op::kDepthwiseConv2d && read_as_is_.count(node.outputs[0]) == 0)
        taken_apart.insert(node.outputs[0]);
    }
    for (size_t n = 0; n < of_.size(); ++n)
      if (of_[n] == nullptr && !graph.nodes[n].inputs.empty() &&
          taken_apart.count(graph.nodes[n].inputs[0]) != 0)
        of_[n] = &narrow_.emplace_back(narrow_layer(graph.nodes[n]));
    take_names();
  }

  SplitWeights run() {
    const Array<GraphNode> old = graph_.nodes;
    graph_.nodes = {};
    for (size_t n = 0; n < old.size(); ++n) {
      if (of_[n] == nullptr)
        graph_.nodes.push(arena_, old[n]);
      else if (old[n].op == Op::kDepthwiseConv2d)
        split_depthwise(old[n], *of_[n]);
      else
        split_inputs(old[n], *of_[n]);
    }
    remove_dead(graph_, arena_);
    made_.note = "weights less their zero point are beyond int8 in " + std::to_string(layers_) +
                 (layers_ == 1 ? " layer" : " layers") + ": " + std::to_string(twice_) +
                 " input channels are read twice, and " + std::to_string(beside_) +
                 " channels of depthwise layers are convolutions beside them; the sums are exact";
    return std::move(made_);
  }

 private:
  const TensorInfo& tensor(int32_t index) const { return graph_.tensors[static_cast<size_t>(index)]; }
  std::vector<int32_t> dims_of(int32_t index) const {
    const auto& shape = tensor(index).shape;
    return {shape.dims, shape.dims + shape.rank};
  }

  // Constants in the place of those that go take their names.
  void take_names() {
    std::vector<int32_t> readers(graph_.tensors.size(), 0);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const GraphNode& node = graph_.nodes[n];
      node_names_.take(node.name);
      const size_t replaced = of_[n] == nullptr                 ? 0
                              : node.op == Op::kDepthwiseConv2d ? 2
                                                                : 1;  // and the bias
      for (size_t i = 0; i < node.inputs.size; ++i)
        if (node.inputs[i] >= 0 && (i == 0 || i > replaced)) ++readers[static_cast<size_t>(node.inputs[i])];
    }
    for (size_t t = 0; t < readers.size(); ++t)
      if (readers[t] > 0 || !graph_.tensors[t].is_constant()) names_.take(graph_.tensors[t].name);
  }

  // A convolution without groups takes its input channels in any order, and from several tensors.
  void note_readers(const GraphNode& node) {
    const auto* const conv = node.op == Op::kConv2d ? node.options.get<Conv2dOptions>() : nullptr;
    const bool takes_apart = conv != nullptr && conv->groups == 1 && tensor(node.inputs[1]).is_constant();
    for (size_t i = takes_apart ? 1 : 0; i < node.inputs.size; ++i) read_as_is_.insert(node.inputs[i]);
  }

  // A layer whose weights are int8 or FP32, as one of which nothing is wide.
  WideLayer narrow_layer(const GraphNode& node) const {
    const TensorInfo& weights = tensor(node.inputs[1]);
    WideLayer layer{-1, {}, {1.0f}};
    if (weights.dtype == DType::kF32) {
      layer.codes.assign(static_cast<size_t>(weights.shape.elements()), 0);
    } else {
      const auto codes = values_of<int8_t>(weights);
      layer.codes.assign(codes.begin(), codes.end());
    }
    return layer;
  }

  // A tensor like another one but for its last dimension.
  int32_t add_like(const std::string& name, int32_t like, int32_t channels) {
    std::vector<int32_t> dims = dims_of(like);
    dims.back() = channels;
    const Quantization quantization = tensor(like).quantization;
    const int32_t made =
        add_tensor(graph_, arena_, names_.take(name).c_str(), tensor(like).dtype, span(dims));
    graph_.tensors[static_cast<size_t>(made)].quantization = quantization;
    return made;
  }

  template <typename T>
  int32_t add_values(const std::string& name, DType dtype, const std::vector<int32_t>& dims,
                     const std::vector<T>& values) {
    return add_constant(graph_, arena_, names_.take(name).c_str(), dtype, span(dims), bytes_of(values));
  }
  GraphNode& add(Op op, const std::string& name, const std::vector<int32_t>& inputs, int32_t output) {
    const std::vector<int32_t> outputs{output};
    return add_node(graph_, arena_, op, node_names_.take(name).c_str(), span(inputs), span(outputs));
  }

  int32_t gathered(const std::string& name, int32_t x, const std::vector<int32_t>& channels, int32_t y = -1) {
    const auto count = static_cast<int32_t>(channels.size());
    const int32_t list = add_values(name + "/indices", DType::kS32, {count}, channels);
    if (y < 0) y = add_like(name, x, count);
    add(Op::kGather, name, {x, list}, y).options.as<GatherOptions>().axis = tensor(x).shape.rank - 1;
    return y;
  }

  int32_t joined(const std::string& name, const std::vector<int32_t>& parts) {
    int32_t channels = 0;
    for (const int32_t part : parts) channels += tensor(part).shape.back(0);
    const int32_t y = add_like(name, parts[0], channels);
    add(Op::kConcat, name, parts, y).options.as<ConcatOptions>().axis = tensor(y).shape.rank - 1;
    return y;
  }

  // Some channels once more, with those of the list behind them; all of them need no Gather.
  void read_again(const std::string& name, int32_t x, std::vector<int32_t> channels,
                  std::vector<int32_t>& parts) {
    const auto count = static_cast<size_t>(tensor(x).shape.back(0));
    bool are_all = channels.size() >= count;
    for (size_t c = 0; c < count && are_all; ++c) are_all = channels[c] == static_cast<int32_t>(c);
    if (are_all) {
      parts.push_back(x);
      channels.erase(channels.begin(), channels.begin() + static_cast<ptrdiff_t>(count));
    }
    if (!channels.empty()) parts.push_back(gathered(name, x, channels));
  }

  // New weights in the place of a layer's, of `count` parts; `channels`: beside them, of these output channels.
  int32_t add_weights(int32_t weights, const WideLayer& layer, const std::vector<int32_t>& dims, size_t count,
                      const std::function<Part(size_t)>& part_at, const std::vector<int32_t>& channels = {}) {
    const TensorInfo info = tensor(weights);
    const std::string suffix = channels.empty() ? "" : kWideSuffix;
    if (info.dtype == DType::kF32) {
      const auto old = values_of<float>(info);
      const int32_t axis = dims.size() == 3 || !channels.empty() ? info.shape.rank - 1 : 0;
      const auto behind = static_cast<size_t>(info.shape.elements(axis + 1, info.shape.rank));
      std::vector<float> values;
      for (size_t at = 0; at < count; ++at) {
        const Part part = part_at(at);
        if (part.element < 0) {
          values.push_back(0.0f);
          continue;
        }
        const auto e = static_cast<size_t>(part.element);
        const double scale =
            layer.scales[layer.scales.size() == 1 ? 0 : e / behind % static_cast<size_t>(info.shape[axis])];
        const int32_t code = layer.codes[e], last = parts_of(code) - 1;
        double before = 0.0;
        for (int32_t i = 0; i < part.i; ++i) before += part_of(code, i) * scale;
        values.push_back(static_cast<float>(part.i == last  ? old[e] - before
                                            : part.i < last ? part_of(code, part.i) * scale
                                                            : 0.0));
      }
      if (!channels.empty()) made_.tensors.push_back({info.name + suffix, info.name, channels});
      return add_values(info.name + suffix, DType::kF32, dims, values);
    }
    std::vector<int8_t> codes;
    for (size_t at = 0; at < count; ++at) {
      const Part part = part_at(at);
      codes.push_back(part.element < 0 ? int8_t{0}
                                       : static_cast<int8_t>(part_of(
                                             layer.codes[static_cast<size_t>(part.element)], part.i)));
    }
    const int32_t made = add_values(info.name + suffix, DType::kS8, dims, codes);
    Quantization& quantization = graph_.tensors[static_cast<size_t>(made)].quantization;
    quantization = info.quantization;
    if (channels.empty()) return made;
    std::vector<float> scales;
    scales.reserve(channels.size());
    for (const int32_t c : channels)
      scales.push_back(
          info.quantization.scales[info.quantization.scales.size == 1 ? 0 : static_cast<size_t>(c)]);
    quantization.scales = arena_.copy(span(scales));
    quantization.axis = scales.size() > 1 ? 0 : -1;
    return made;
  }

  // Weights [oc, ..., ic / groups]: more input channels, as many in each group.
  void split_inputs(const GraphNode& node, const WideLayer& layer) {
    const int32_t x = node.inputs[0], weights = node.inputs[1];
    const auto* const conv = node.options.get<Conv2dOptions>();
    const int32_t groups = conv == nullptr ? 1 : conv->groups;
    std::vector<int32_t> dims = dims_of(weights);
    const auto inputs = static_cast<size_t>(dims.back());
    const size_t rows = layer.codes.size() / inputs, rows_of_group = rows / static_cast<size_t>(groups);
    std::vector<std::vector<Part>> columns(static_cast<size_t>(groups));  // an element is an index in a row
    size_t most = 0;
    int32_t wide_inputs = 0;
    const auto apart = groups == 1 ? apart_.find(x) : apart_.end();
    std::vector<int32_t> parts_read{x};
    const std::string name = label_of(node);
    for (size_t g = 0; g < columns.size(); ++g) {
      std::vector<int32_t> counts(inputs, 1);
      for (size_t i = 0; i < rows_of_group * inputs; ++i)
        counts[i % inputs] =
            std::max(counts[i % inputs], parts_of(layer.codes[g * rows_of_group * inputs + i]));
      const int32_t longest = *std::max_element(counts.begin(), counts.end());
      wide_inputs += static_cast<int32_t>(
          std::count_if(counts.begin(), counts.end(), [](int32_t count) { return count > 1; }));
      constexpr size_t kFewInputs = 4;  // all of them are sooner there than a Gather of one
      if (inputs <= kFewInputs) counts.assign(inputs, longest);
      // From one tensor, or the narrow and the wide channels of a depthwise layer.
      const std::vector<int32_t>* const wide = apart == apart_.end() ? nullptr : &apart->second.wide_channels;
      const auto is_wide = [&](size_t c) { return wide != nullptr && apart->second.is_wide[c]; };
      for (size_t c = 0; c < inputs; ++c)
        columns[g].push_back(is_wide(c) ? Part() : Part{static_cast<int64_t>(c), 0});
      if (wide != nullptr) {
        for (const int32_t c : *wide) columns[g].push_back({c, 0});
        parts_read = {apart->second.narrow, apart->second.wide};
      }
      for (const bool of_wide : {true, false}) {
        std::vector<int32_t> channels;
        for (int32_t i = 1; i < longest; ++i)
          for (size_t c = 0; c < inputs; ++c) {
            if (counts[c] <= i || is_wide(c) != of_wide) continue;
            columns[g].push_back({static_cast<int64_t>(c), i});
            channels.push_back(static_cast<int32_t>(
                of_wide ? std::find(wide->begin(), wide->end(), static_cast<int32_t>(c)) - wide->begin()
                        : c));
          }
        constexpr size_t kTogether = 4;  // codes that kernels read in place
        const bool is_changed = wide_inputs > 0 || wide != nullptr;
        while (groups == 1 && !of_wide && is_changed && inputs > kFewInputs &&
               columns[g].size() % kTogether != 0) {
          columns[g].emplace_back();
          channels.push_back(0);
        }
        if (groups == 1 && !channels.empty())
          read_again(name + "/again", of_wide ? apart->second.wide : parts_read[0], channels, parts_read);
      }
      most = std::max(most, columns[g].size());
    }
    for (std::vector<Part>& of_group : columns) of_group.resize(most);
    if (wide_inputs == 0 && apart == apart_.end()) {
      graph_.nodes.push(arena_, node);
      return;
    }
    const auto part_at = [&](size_t at) {
      const size_t row = at / most;
      const Part& column = columns[row / rows_of_group][at % most];
      return column.element < 0 ? Part()
                                : Part{static_cast<int64_t>(row * inputs) + column.element, column.i};
    };
    int32_t read = -1;
    if (groups == 1) {
      read = joined(name + kWideSuffix, parts_read);
    } else {
      std::vector<int32_t> channels;
      for (size_t g = 0; g < columns.size(); ++g)
        for (const Part& column : columns[g])
          channels.push_back(static_cast<int32_t>(g * inputs) +
                             static_cast<int32_t>(std::max<int64_t>(column.element, 0)));
      read = gathered(name + kWideSuffix, x, channels);
    }
    made_.tensors.push_back({tensor(read).name, tensor(x).name, {}});
    dims.back() = static_cast<int32_t>(most);
    GraphNode wide = node;
    wide.inputs = arena_.copy(Span<const int32_t>{node.inputs.data, node.inputs.size});
    wide.inputs[1] = add_weights(weights, layer, dims, rows * most, part_at);
    wide.inputs[0] = read;
    graph_.nodes.push(arena_, wide);
    layers_ += wide_inputs > 0;
    twice_ += wide_inputs;
  }

  // Weights [kh, kw, c].
  void split_depthwise(const GraphNode& node, const WideLayer& layer) {
    const int32_t x = node.inputs[0], weights = node.inputs[1], bias = node.inputs[2], y = node.outputs[0];
    const std::vector<int32_t> dims = dims_of(weights);
    const auto channels = static_cast<size_t>(dims.back());
    const auto multiplier = channels / static_cast<size_t>(tensor(x).shape.back(0));
    std::vector<int32_t> counts(channels, 1);
    for (size_t i = 0; i < layer.codes.size(); ++i)
      counts[i % channels] = std::max(counts[i % channels], parts_of(layer.codes[i]));
    const int32_t most = *std::max_element(counts.begin(), counts.end());
    std::vector<int32_t> wide, reads, order;
    std::vector<Part> parts;
    for (size_t c = 0; c < channels; ++c) {
      order.push_back(static_cast<int32_t>(counts[c] == 1 ? c : channels + wide.size()));
      if (counts[c] == 1) continue;
      wide.push_back(static_cast<int32_t>(c));
      reads.insert(reads.end(), static_cast<size_t>(most), static_cast<int32_t>(c / multiplier));
      for (size_t i = c; i < layer.codes.size(); i += channels)
        for (int32_t part = 0; part < most; ++part) parts.push_back({static_cast<int64_t>(i), part});
    }
    const auto other_at = [&](size_t at) {
      return counts[at % channels] == 1 ? Part{static_cast<int64_t>(at), 0} : Part();
    };
    const auto count = static_cast<int32_t>(wide.size());
    std::vector<int32_t> sums, all = values_of<int32_t>(tensor(bias));  // or FP32: of 32 bits, too
    for (const int32_t c : wide) {
      sums.push_back(all[static_cast<size_t>(c)]);
      all[static_cast<size_t>(c)] = 0;
    }
    const std::string name = label_of(node);
    const DType of_bias = tensor(bias).dtype;
    const bool are_all = wide.size() == channels;
    const int32_t result = are_all ? y : add_like(name + kWideSuffix, y, count);
    const int32_t read = gathered(name + "/again", x, reads),
                  kernel = add_weights(
                      weights, layer, {count, dims[0], dims[1], most}, parts.size(),
                      [&](size_t at) { return parts[at]; }, wide),
                  added = add_values(tensor(bias).name + std::string(kWideSuffix), of_bias, {count}, sums);
    GraphNode& conv = add(Op::kConv2d, are_all ? name : name + kWideSuffix, {read, kernel, added}, result);
    conv.source = node.source;
    conv.options.as<Window2d>() = node.options.as<Window2d>();
    conv.options.as<Clamp>() = node.options.as<Clamp>();
    conv.options.as<Conv2dOptions>().groups = count;
    ++layers_;
    beside_ += count;
    if (are_all) return;
    GraphNode narrow = node;
    const int32_t rest = add_like(name + "/narrow", y, static_cast<int32_t>(channels));
    const std::vector<int32_t> inputs{
        x, add_weights(weights, layer, dims, layer.codes.size(), other_at),
        add_values(tensor(bias).name, of_bias, {static_cast<int32_t>(channels)}, all)},
        outputs{rest};
    narrow.inputs = arena_.copy(span(inputs));
    narrow.outputs = arena_.copy(span(outputs));
    graph_.nodes.push(arena_, narrow);
    for (const int32_t part : {rest, result})
      made_.tensors.push_back({tensor(part).name, tensor(y).name, {}});
    if (read_as_is_.count(y) == 0) {
      Apart& apart = apart_[y];
      apart = {rest, result, wide, {}};
      for (const int32_t count_of : counts) apart.is_wide.push_back(count_of > 1);
    } else {
      gathered(name + "/order", joined(name + "/all", {rest, result}), order, y);
    }
  }

  std::string label_of(const GraphNode& node) const {
    return node.name[0] != '\0' ? node.name : tensor(node.outputs[0]).name;
  }

  // Two tensors in the place of one that a depthwise layer gives, where all readers take it apart.
  struct Apart {
    int32_t narrow = -1, wide = -1;
    std::vector<int32_t> wide_channels;
    std::vector<bool> is_wide;
  };

  Graph& graph_;
  Arena& arena_;
  std::map<int32_t, Apart> apart_;  // by the tensor in whose place they are
  std::set<int32_t> read_as_is_;
  std::deque<WideLayer> narrow_;
  std::vector<const WideLayer*> of_;  // nodes
  importers::UniqueNames names_, node_names_;
  SplitWeights made_;
  int32_t layers_ = 0, twice_ = 0, beside_ = 0;
};

}  // namespace

std::vector<WideLayer> wide_layers(const Graph& graph) {
  std::vector<WideLayer> layers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const bool is_layer =
        node.op == Op::kConv2d || node.op == Op::kDepthwiseConv2d || node.op == Op::kFullyConnected;
    if (!is_layer || node.inputs.size < 2 || node.inputs[1] < 0) continue;
    const TensorInfo& weights = graph.tensors[static_cast<size_t>(node.inputs[1])];
    if (weights.dtype != DType::kS16 || !weights.is_constant()) continue;
    const auto codes = values_of<int16_t>(weights);
    layers.push_back({static_cast<int32_t>(n), {codes.begin(), codes.end()}, {}});
  }
  return layers;
}

SplitWeights split_wide_weights(Graph& graph, Arena& arena, const std::vector<WideLayer>& layers) {
  if (layers.empty()) return {};
  return Splitting(graph, arena, layers).run();
}

}  // namespace intaglio
