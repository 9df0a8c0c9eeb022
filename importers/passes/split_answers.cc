#include <algorithm>

#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// Some output channels of a layer.
struct Part {
  size_t slice;  // the node that takes them
  int32_t first, count;
};

// All of the other axes, in their order.
bool is_slice_of_channels(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kStridedSlice) return false;
  const auto& options = node.options.as<StridedSliceOptions>();
  const Shape &from = draft.tensor(node.input()).shape, &to = draft.tensor(node.output()).shape;
  if (from.size() < 2 || from.size() != to.size()) return false;
  for (size_t a = 0; a < from.size(); ++a) {
    const bool is_whole = options.begin[a] == 0 && from[a] == to[a];
    if (options.strides[a] != 1 || (a + 1 < from.size() && !is_whole)) return false;
  }
  return true;
}

// Of each tensor, whether a layer or a product of activations depends on it. Else its values are for the caller, or functions of them.
std::vector<bool> feeds_layers(const Draft& draft) {
  std::vector<bool> feeds(draft.tensors.size());
  for (auto node = draft.nodes.rbegin(); node != draft.nodes.rend(); ++node) {
    bool does = traits(node->op).int8 == Int8Form::kWeighted || node->op == Op::kBatchMatMul;
    for (const int32_t output : node->outputs)
      does = does || (output >= 0 && feeds[static_cast<size_t>(output)]);
    for (const int32_t input : node->inputs)
      if (does && input >= 0) feeds[static_cast<size_t>(input)] = true;
  }
  return feeds;
}

bool is_ordinary_layer(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kConv2d && node.op != Op::kFullyConnected) return false;
  if (node.op == Op::kConv2d && node.options.as<Conv2dOptions>().groups > 1) return false;
  return has_float_weights(draft, node) && node.inputs.size() == 3 &&
         draft.tensor(node.output()).dtype == DType::kF32;
}

// The parts that the readers take, in their order; empty where a reader takes something else, or channels that another takes.
std::vector<Part> parts_of(const Draft& draft, const Links& links, const std::vector<bool>& feeds,
                           const DraftNode& layer) {
  std::vector<Part> parts;
  if (links.is_output[static_cast<size_t>(layer.output())]) return {};
  for (const int32_t reader : links.consumers_of(layer.output())) {
    const DraftNode& slice = draft.node(reader);
    if (!is_slice_of_channels(draft, slice)) return {};
    const Shape& shape = draft.tensor(slice.output()).shape;
    const auto& begin = slice.options.as<StridedSliceOptions>().begin;
    if (feeds[static_cast<size_t>(slice.output())]) return {};
    parts.push_back({static_cast<size_t>(reader), begin[shape.size() - 1], shape.back()});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.first < b.first; });
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i].first < parts[i - 1].first + parts[i - 1].count) return {};
  return parts;
}

// These indices of the first axis of a constant, as a new one.
int32_t add_part(Draft& draft, int32_t constant, const Part& part) {
  DraftTensor taken = draft.tensor(constant);
  const size_t bytes = taken.data.size() / static_cast<size_t>(taken.shape[0]);
  const size_t first = static_cast<size_t>(part.first), end = first + static_cast<size_t>(part.count);
  const auto cut = [](auto& values, size_t from, size_t to) {
    values = {values.begin() + static_cast<ptrdiff_t>(from), values.begin() + static_cast<ptrdiff_t>(to)};
  };
  cut(taken.data, first * bytes, end * bytes);
  if (taken.axis == 0 && taken.scales.size() == static_cast<size_t>(taken.shape[0]))
    cut(taken.scales, first, end);
  taken.shape[0] = part.count;
  return draft.put(std::move(taken));
}

}  // namespace

bool split_answers(Draft& draft) {
  const Links links(draft);
  const std::vector<bool> feeds = feeds_layers(draft);
  bool changed = false;
  for (const DraftNode& layer : draft.nodes) {
    if (!is_ordinary_layer(draft, layer)) continue;
    const std::vector<Part> parts = parts_of(draft, links, feeds, layer);
    if (parts.size() < 2) continue;
    for (const Part& part : parts) {
      DraftNode& own = draft.nodes[part.slice];
      const std::vector<int32_t> outputs = own.outputs;
      own = layer;
      own.inputs = {layer.inputs[0], add_part(draft, layer.inputs[1], part),
                    add_part(draft, layer.inputs[2], part)};
      own.outputs = outputs;
    }
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
