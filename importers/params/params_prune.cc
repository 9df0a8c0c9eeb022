#include "importers/params/params_prune.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "importers/params/params_layers.h"
#include "intaglio/describe.h"

namespace intaglio {
namespace {

using Channels = std::set<int32_t>;  // indices of a tensor's last axis

// The channels that a tensor loses.
struct Cut {
  Channels channels;
  bool is_zero = true;  // these would all be 0
};

std::string list_text(const Channels& channels) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t shown = 0;
  for (const int32_t c : channels) {
    if (shown++ == kMost) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(c);
  }
  return text;
}

class Pruner {
 public:
  Pruner(const Model& model, const ParamsTable& table, const std::string& path, Graph& graph, Arena& arena)
      : model_(model), table_(table), path_(path), graph_(graph), arena_(arena), layers_(model) {}

  Outcome<PruneSummary> prune() {
    cuts_.resize(static_cast<size_t>(model_.tensor_count()));
    graph_ = graph_of(model_, arena_);
    for (const PrunedLayer& layer : table_.pruned)
      if (auto step = seed(layer); !step) return step.failure();
    for (int32_t n = 0; n < model_.node_count(); ++n)
      if (auto step = visit(n); !step) return step.failure();
    for (const int32_t output : model_.outputs())
      if (has_cut(output))
        return Failure{path_ + ": the model's output " + name(output) + " would lose its channels " +
                       list_text(cut(output).channels) +
                       "; a layer whose channels leave the model keeps them"};
    for (const PrunedLayer& layer : table_.pruned)
      if (auto step = check_consumer(layer); !step) return step.failure();
    for (int32_t t = 0; t < model_.tensor_count(); ++t)
      if (has_cut(t)) shrink(graph_.tensors[static_cast<size_t>(t)], cut(t).channels);
    return summary_;
  }

 private:
  Cut& cut(int32_t tensor) { return cuts_[static_cast<size_t>(tensor)]; }
  bool has_cut(int32_t tensor) const {
    return tensor >= 0 && !cuts_[static_cast<size_t>(tensor)].channels.empty();
  }
  std::string name(int32_t tensor) const { return model_.tensor(tensor).name; }
  std::string label(int32_t n) const {
    const NodeInfo node = model_.node(n);
    const std::string own = node.name[0] != '\0' ? node.name : model_.tensor(node.outputs[0]).name;
    return "node '" + own + "' (" + op_name(node.op) + ")";
  }
  Failure cannot(int32_t n, const std::string& why) const { return Failure{path_ + ": " + label(n) + why}; }

  // ---- the record

  Outcome<Done> seed(const PrunedLayer& layer) {
    if (!layer.is_producer) return Done{};
    const int32_t n = layers_.find(layer.name);
    if (n < 0)
      return Failure{path_ + ": the producer " + layer.name + " is no layer of the model; nearest: " +
                     layers_.nearest(layer.name) + "; --map says what it is called there"};
    const int32_t count = model_.tensor(model_.node(n).outputs[0]).shape.back(0);
    if (layer.channels.back() >= count)
      return Failure{path_ + ": " + layer.name + " has " + std::to_string(count) +
                     " output channels, and prune_index names channel " +
                     std::to_string(layer.channels.back()) + "; is the record of another model?"};
    Channels& channels = seeds_[n];
    if (channels.empty()) ++summary_.layers;
    const size_t before = channels.size();
    channels.insert(layer.channels.begin(), layer.channels.end());
    summary_.channels += static_cast<int64_t>(channels.size() - before);
    if (channels.size() == static_cast<size_t>(count))
      return Failure{path_ + ": " + layer.name + " would lose all of its " + std::to_string(count) +
                     " channels; at least one has to stay"};
    return Done{};
  }

  // The record's entry for a convolution's input follows from its producers. Other inputs need none.
  Outcome<Done> check_consumer(const PrunedLayer& layer) {
    const int32_t n = layer.is_producer ? -1 : layers_.find(layer.name);
    if (n < 0 || model_.node(n).op != Op::kConv2d) return Done{};
    const Channels& inputs = cut(model_.node(n).inputs[0]).channels;
    for (const int32_t c : layer.channels)
      if (inputs.count(c) == 0)
        return cannot(n, ": the record takes input channel " + std::to_string(c) +
                             " from it, and no producer does; is the record of another model?");
    return Done{};
  }

  // ---- nodes, in the order in which they run

  Outcome<Done> visit(int32_t n) {
    const NodeInfo node = model_.node(n);
    const bool reads_cut =
        std::any_of(node.inputs.begin(), node.inputs.end(), [this](int32_t t) { return has_cut(t); });
    if (layer_rule(model_, float_ops(), node) != nullptr) return visit_layer(n);
    if (!reads_cut) return Done{};
    switch (node.op) {
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kDiv:
      case Op::kMaximum:
      case Op::kMinimum:
        return visit_pair(n);
      case Op::kConcat:
        return visit_concat(n);
      case Op::kReshape:
        return visit_reshape(n);
      case Op::kStridedSlice:
        return visit_slice(n);
      case Op::kPRelu:
        take_from_constant(n, 1, cut(node.inputs[0]).channels);
        pass(n, true);
        return Done{};
      default:
        return visit_same(n);
    }
  }

  // The output loses what the first input loses.
  void pass(int32_t n, bool keeps_zero) {
    const NodeInfo node = model_.node(n);
    const Clamp clamp = node.options.value<Clamp>();
    Cut& output = cut(node.outputs[0]);
    output = cut(node.inputs[0]);
    output.is_zero = output.is_zero && keeps_zero && clamp.min <= 0.0f && clamp.max >= 0.0f;
  }

  Outcome<Done> visit_layer(int32_t n) {
    const NodeInfo node = model_.node(n);
    const QuantRule& rule = layers_.rule(n);
    const int32_t input = node.inputs[0], output = node.outputs[0];
    const auto seeded = seeds_.find(n);
    Channels gone = seeded == seeds_.end() ? Channels() : seeded->second;
    const Cut in = cut(input);
    if (gone.empty() && in.channels.empty()) return Done{};
    if (!in.is_zero && !in.channels.empty())
      return cannot(
          n, ": channel " + std::to_string(*in.channels.begin()) + " of its input " + name(input) +
                 " is not 0 where its layer's is, because of a function on the way; it cannot be taken out");
    const auto weights = static_cast<size_t>(rule.weight_input), bias = static_cast<size_t>(rule.bias_input);
    if (const auto* const conv = node.options.get<Conv2dOptions>(); conv != nullptr && conv->groups > 1)
      return cannot(n, ": channels of a convolution in groups are not taken out");
    const TensorInfo kernel = model_.tensor(node.inputs[weights]);
    if (node.op ==
        Op::kDepthwiseConv2d) {  // the weights' axis is the last one: input channel * multiplier + m
      const int32_t multiplier = kernel.shape.back(0) / model_.tensor(input).shape.back(0);
      if (!gone.empty() && gone != expanded(in.channels, multiplier))
        return cannot(n, ": loses other channels than its input " + name(input) +
                             "; a depthwise layer follows the layer before it");
      gone = expanded(in.channels, multiplier);
    } else {
      take_from_constant(n, weights, in.channels);
    }
    take_from_constant(n, weights, gone, rule.weight_axis);
    if (bias < node.inputs.size && node.inputs[bias] >= 0) take_from_constant(n, bias, gone);
    for (size_t i = bias + 1; i < node.inputs.size; ++i)
      if (has_cut(node.inputs[i])) return cannot(n, ": what is added to it loses channels");
    const Clamp clamp = node.options.value<Clamp>();
    cut(output) = {gone, clamp.min <= 0.0f && clamp.max >= 0.0f};
    return Done{};
  }

  static Channels expanded(const Channels& channels, int32_t multiplier) {
    Channels all;
    for (const int32_t c : channels)
      for (int32_t m = 0; m < multiplier; ++m) all.insert(c * multiplier + m);
    return all;
  }

  // Two operands; one with a single channel is repeated.
  Outcome<Done> visit_pair(int32_t n) {
    const NodeInfo node = model_.node(n);
    const int32_t output = node.outputs[0], last = model_.tensor(output).shape.back(0);
    Channels gone;
    for (const int32_t input : node.inputs)
      if (has_cut(input)) gone = cut(input).channels;
    bool zero[2] = {true, true};
    for (size_t i = 0; i < 2; ++i) {
      const int32_t input = node.inputs[i];
      const TensorInfo info = model_.tensor(input);
      if (info.shape.back(0) != last) {
        zero[i] = false;
      } else if (info.is_constant()) {
        zero[i] = is_zero_at(info, gone);
        take_from_constant(n, i, gone);
      } else if (cut(input).channels != gone) {
        return cannot(n, ": channels " + list_text(gone) + " of one operand go, and of " + name(input) +
                             (has_cut(input) ? " channels " + list_text(cut(input).channels) : " none") +
                             "; the record has to prune both operands alike");
      } else {
        zero[i] = cut(input).is_zero;
      }
    }
    const bool is_zero = node.op == Op::kMul   ? zero[0] || zero[1]
                         : node.op == Op::kDiv ? zero[0] && !zero[1]
                                               : zero[0] && zero[1];
    const Clamp clamp = node.options.value<Clamp>();
    cut(output) = {gone, is_zero && clamp.min <= 0.0f && clamp.max >= 0.0f};
    return Done{};
  }

  static bool is_zero_at(const TensorInfo& info, const Channels& channels) {
    const auto* const values = reinterpret_cast<const float*>(info.constant.data);
    for (int64_t i = 0; i < info.shape.elements(); ++i)
      if (channels.count(static_cast<int32_t>(i % info.shape.back(0))) != 0 && values[i] != 0.0f)
        return false;
    return true;
  }

  Outcome<Done> visit_concat(int32_t n) {
    const NodeInfo node = model_.node(n);
    const int32_t rank = model_.tensor(node.outputs[0]).shape.rank;
    const bool along_channels = node.options.as<ConcatOptions>().axis == rank - 1;
    Cut all;
    int32_t begin = 0;
    for (size_t i = 0; i < node.inputs.size; ++i) {
      const int32_t input = node.inputs[i];
      const TensorInfo info = model_.tensor(input);
      const Cut& own = cut(input);
      if (!along_channels && i > 0 && own.channels != all.channels)
        return cannot(n, ": its operands lose other channels than " + list_text(all.channels) +
                             "; the record has to prune all operands alike");
      for (const int32_t c : own.channels) all.channels.insert(along_channels ? begin + c : c);
      all.is_zero = all.is_zero && own.is_zero;
      begin += info.shape.back(0);
    }
    cut(node.outputs[0]) = all;
    return Done{};
  }

  // Row-major: index j of a last axis that is a multiple of the channels is of channel j modulo their number.
  Outcome<Done> visit_reshape(int32_t n) {
    const NodeInfo node = model_.node(n);
    const int32_t from = model_.tensor(node.inputs[0]).shape.back(0),
                  to = model_.tensor(node.outputs[0]).shape.back(0);
    if (to % from != 0) return cannot(n, ": parts channels, of which some go");
    Cut gone = cut(node.inputs[0]);
    Channels repeated;
    for (int32_t first = 0; first < to; first += from)
      for (const int32_t c : gone.channels) repeated.insert(first + c);
    gone.channels = std::move(repeated);
    cut(node.outputs[0]) = std::move(gone);
    return Done{};
  }

  Outcome<Done> visit_slice(int32_t n) {
    const NodeInfo node = model_.node(n);
    const auto& options = node.options.as<StridedSliceOptions>();
    const size_t last = options.begin.size - 1;
    if (options.strides[last] != 1) return cannot(n, ": takes some channels in steps, of which some go");
    const Cut& in = cut(node.inputs[0]);
    const int32_t begin = options.begin[last], count = model_.tensor(node.outputs[0]).shape.back(0);
    Cut gone{{}, in.is_zero};
    int32_t before = 0;
    for (const int32_t c : in.channels) {
      before += c < begin ? 1 : 0;
      if (c >= begin && c < begin + count) gone.channels.insert(c - begin);
    }
    if (gone.channels.size() == static_cast<size_t>(count))
      return cannot(n, ": takes nothing but channels that go; take it out of the network first");
    const Span<int32_t> begins = arena_.copy(options.begin);
    if (!begins.empty()) begins[last] = begin - before;
    graph_.nodes[static_cast<size_t>(n)].options.as<StridedSliceOptions>().begin = begins;
    cut(node.outputs[0]) = std::move(gone);
    return Done{};
  }

  // One input, whose channels stay where they are.
  Outcome<Done> visit_same(int32_t n) {
    const NodeInfo node = model_.node(n);
    const QuantRule& rule = find_op(float_ops(), model_, node)->quant;
    const TensorInfo in = model_.tensor(node.inputs[0]), out = model_.tensor(node.outputs[0]);
    bool keeps_zero = true, is_known = false;
    if (rule.unary != nullptr) {
      keeps_zero = rule.unary(node.options, 0.0) == 0.0;
      is_known = true;
    } else if (const auto* const mean = node.options.get<ReduceOptions>()) {
      is_known = std::find(mean->axes.begin(), mean->axes.end(), in.shape.rank - 1) == mean->axes.end();
    } else if (const auto* const pad = node.options.get<PadOptions>()) {
      keeps_zero = pad->value == 0.0f;
      is_known = pad->before[pad->before.size - 1] == 0;
    } else if (const auto* const transpose = node.options.get<TransposeOptions>()) {
      const auto& order = transpose->permutation;
      is_known = order[order.size - 1] == static_cast<int32_t>(order.size) - 1;
    } else {
      is_known =
          node.op == Op::kClamp || node.op == Op::kResize || node.options.get<Pool2dOptions>() != nullptr;
    }
    if (!is_known || in.shape.back(0) != out.shape.back(0) || node.outputs.size != 1)
      return cannot(n, ": channels " + list_text(cut(node.inputs[0]).channels) + " of its input " +
                           name(node.inputs[0]) + " go, and it mixes channels");
    pass(n, keeps_zero);
    return Done{};
  }

  // ---- constants

  // A node's constant loses indices of an axis (-1: the last one). The node gets one of its own, since others may read it.
  void take_from_constant(int32_t n, size_t input, const Channels& gone, int32_t axis = -1) {
    if (gone.empty()) return;
    GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    const TensorInfo info = graph_.tensors[static_cast<size_t>(node.inputs[input])];
    const int32_t at = axis < 0 ? info.shape.rank - 1 : axis;
    const auto block = static_cast<size_t>(info.shape.elements(at + 1, info.shape.rank)) * sizeof(float);
    const auto rows = static_cast<size_t>(info.shape.elements(0, at + 1));
    std::vector<uint8_t> kept;
    for (size_t row = 0; row < rows; ++row)
      if (gone.count(static_cast<int32_t>(row % static_cast<size_t>(info.shape[at]))) == 0)
        kept.insert(kept.end(), info.constant.data + row * block, info.constant.data + (row + 1) * block);
    std::vector<int32_t> dims(info.shape.dims, info.shape.dims + info.shape.rank);
    dims[static_cast<size_t>(at)] -= static_cast<int32_t>(gone.size());
    node.inputs[input] = add_constant(graph_, arena_, info.name, info.dtype, {dims.data(), dims.size()},
                                      {kept.data(), kept.size()});
  }

  void shrink(TensorInfo& info, const Channels& gone) {
    std::vector<int32_t> dims(info.shape.dims, info.shape.dims + info.shape.rank);
    dims.back() -= static_cast<int32_t>(gone.size());
    info.shape = {arena_.copy(Span<const int32_t>{dims.data(), dims.size()}).data, info.shape.rank};
  }

  const Model& model_;
  const ParamsTable& table_;
  const std::string& path_;
  Graph& graph_;
  Arena& arena_;
  LayerNames layers_;
  std::map<int32_t, Channels> seeds_;  // of layers: what the record takes from their outputs
  std::vector<Cut> cuts_;              // of tensors
  PruneSummary summary_;
};

}  // namespace

Outcome<PruneSummary> prune_model(const Model& model, const ParamsTable& table, const std::string& path,
                                  Graph& graph, Arena& arena) {
  if (table.pruned.empty())
    return Failure{path + ": no prune_record of it has a prune_index, so it takes no channel out of a model"};
  return Pruner(model, table, path, graph, arena).prune();
}

}  // namespace intaglio
