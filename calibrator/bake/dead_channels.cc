#include "calibrator/bake/dead_channels.h"

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr size_t kKeptMultiple = 4;

// Codes that a channel may hold.
struct Codes {
  int16_t lo = -128, hi = 127;

  bool is_one() const { return lo == hi; }
};

// Reals between these.
struct Reals {
  double lo = 0, hi = 0;
};

// The two conversions to float and the product of a requantization are off by far less than this part of a code, wherever a code
// comes of them. So a bound that is moved by it holds, and half a code is never decided here.
constexpr double kRounding = 1e-3;
// The multipliers of an addition have 15 bits and more: each operand is off by less than this part of itself.
constexpr double kSumRounding = 1.0 / 16384;

// NaN: the lower end.
double between(double value, double lo, double hi) {
  value = value > lo ? value : lo;
  return value < hi ? value : hi;
}

bool pads(const NodeOptions& options) {
  const auto window = options.value<Window2d>();
  return window.pad_top != 0 || window.pad_left != 0 || window.pad_bottom != 0 || window.pad_right != 0;
}

int8_t weight_code(const TensorInfo& weights, size_t i) {
  return static_cast<int8_t>(weights.constant.data[i]);
}

// Which channels there are, which are joined, and which codes each holds. Every int8 activation's index along its last axis is a
// channel of its own; those that an operator carries from one tensor to another are joined: they go together or stay together.
class ChannelAnalysis {
 public:
  ChannelAnalysis(Graph& graph, Arena& arena) : graph_(graph), arena_(arena) {}

  RemovedChannels run() {
    RemovedChannels removed;
    number_channels();
    if (count_ == 0 || arena_.exhausted()) return removed;
    for (const int32_t input : graph_.inputs) keep(input);
    for (const int32_t output : graph_.outputs) keep(output);
    for (const StateInfo& state : graph_.states) {
      keep(state.input);
      keep(state.output);
    }
    for (const GraphNode& node : graph_.nodes) look_at(node);
    for (size_t i = 0; i < count_; ++i)
      if (kept_[i]) kept_[root(i)] = true;
    round_counts();
    if (arena_.exhausted()) return removed;
    for (GraphNode& node : graph_.nodes)
      if (is_layer(node)) shrink_layer(node, removed);
    for (GraphNode& node : graph_.nodes) shrink_tables(node);
    for (size_t t = 0; t < first_.size; ++t) shrink_tensor(static_cast<int32_t>(t));
    return removed;
  }

 private:
  // ---- channels

  const TensorInfo& tensor(int32_t t) const { return graph_.tensors[static_cast<size_t>(t)]; }
  bool has_channels(int32_t t) const { return t >= 0 && first_[static_cast<size_t>(t)] != SIZE_MAX; }
  size_t first(int32_t t) const { return first_[static_cast<size_t>(t)]; }
  size_t channels(int32_t t) const { return static_cast<size_t>(tensor(t).shape.back(0)); }

  void number_channels() {
    first_ = arena_.make<size_t>(graph_.tensors.size());
    for (size_t t = 0; t < first_.size; ++t) {
      const TensorInfo& info = graph_.tensors[t];
      const bool counts = info.dtype == DType::kS8 && !info.is_constant() && info.shape.rank > 0 &&
                          info.quantization.scales.size == 1;
      first_[t] = counts ? count_ : SIZE_MAX;
      if (counts) count_ += static_cast<size_t>(info.shape.back(0));
    }
    parent_ = arena_.make<size_t>(count_);
    codes_ = arena_.make<Codes>(count_);
    kept_ = arena_.make<bool>(count_);
    for (size_t i = 0; i < parent_.size; ++i) parent_[i] = i;
  }
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) {
    a = root(a);
    b = root(b);
    parent_[a < b ? b : a] = a < b ? a : b;
  }
  void keep(int32_t t) {
    for (size_t c = 0; has_channels(t) && c < channels(t); ++c) kept_[first(t) + c] = true;
  }
  bool stays(size_t i) { return kept_[root(i)]; }
  bool stays(int32_t t, size_t c) { return !has_channels(t) || stays(first(t) + c); }

  // ---- codes and joins, node by node

  const QuantRule* rule_of(const GraphNode& node) const {
    const int32_t index = find_op_index(all_ops(), signature_of(graph_, node));
    return index == kNoOp ? nullptr : &all_ops()[static_cast<size_t>(index)]->quant;
  }
  static ChannelRule channel_rule(Op op) {
    const int32_t index = find_op_index(float_ops(), {op, DType::kF32, DType::kF32});
    return index == kNoOp ? ChannelRule::kMixes : float_ops()[static_cast<size_t>(index)]->quant.channels;
  }
  const TensorInfo* input_of(const GraphNode& node, int32_t input) const {
    const auto i = static_cast<size_t>(input);
    return input >= 0 && i < node.inputs.size && node.inputs[i] >= 0 ? &tensor(node.inputs[i]) : nullptr;
  }

  // A layer of int8 whose weights' axes are understood here: all input channels to each output channel, or depthwise.
  bool is_layer(const GraphNode& node) const {
    const QuantRule* const rule = rule_of(node);
    if (rule == nullptr || rule->weight_input < 0 || node.inputs.empty() || !has_channels(node.inputs[0]))
      return false;
    const TensorInfo* const weights = input_of(node, rule->weight_input);
    const TensorInfo* const bias = input_of(node, rule->bias_input);
    const TensorInfo& output = tensor(node.outputs[0]);
    const auto out = static_cast<size_t>(output.shape.back(0));
    return weights != nullptr && weights->is_constant() && weights->dtype == DType::kS8 &&
           weights->shape.rank > 1 && rule->weight_axis < weights->shape.rank &&
           weights->constant.size == weights->bytes() &&
           (bias == nullptr || (bias->is_constant() && bias->constant.size == 4 * out)) &&
           (weights->quantization.scales.size == 1 || weights->quantization.scales.size == out) &&
           input_of(node, rule->residual_input) == nullptr &&
           static_cast<size_t>(weights->shape.back(0)) == channels(node.inputs[0]) &&
           static_cast<size_t>(weights->shape[rule->weight_axis]) == out &&
           (is_depthwise(*rule, *weights) ||
            (rule->weight_axis == 0 && node.options.value<Conv2dOptions>().groups == 1));
  }
  static bool is_depthwise(const QuantRule& rule, const TensorInfo& weights) {
    return rule.weight_axis + 1 == weights.shape.rank;
  }

  void look_at(const GraphNode& node) {
    const int32_t output = node.outputs[0];
    if (is_layer(node)) return look_at_layer(node, *rule_of(node));
    if (node.outputs.size == 1 && has_channels(output) && !node.inputs.empty() &&
        has_channels(node.inputs[0])) {
      const QuantRule* const rule = rule_of(node);
      if (has_tables(node)) return look_at_table(node);
      if (rule != nullptr && rule->inputs_as_output && carries_joined(node)) return;
      if (channel_rule(node.op) == ChannelRule::kShifts && carries(node)) return;
    }
    for (const int32_t input : node.inputs) keep(input);
    for (const int32_t written : node.outputs) keep(written);
  }

  void look_at_layer(const GraphNode& node, const QuantRule& rule) {
    const int32_t in = node.inputs[0], out = node.outputs[0];
    const TensorInfo& weights = *input_of(node, rule.weight_input);
    const TensorInfo* const bias = input_of(node, rule.bias_input);
    const bool depthwise = is_depthwise(rule, weights), padded = pads(node.options);
    const int32_t zero_point = tensor(in).quantization.zero_point;
    const auto count = static_cast<size_t>(tensor(out).shape.back(0));
    const size_t depth = channels(in);
    const bool fits = sums_fit(weights, bias, count, depthwise ? 1 : depth);
    for (size_t c = 0; c < depth; ++c) {
      const Codes codes = codes_[first(in) + c];
      const bool folds = fits && codes.is_one() && (codes.lo == zero_point || !padded);
      if (!depthwise && !folds) kept_[first(in) + c] = true;
      if (depthwise && has_channels(out)) join(first(in) + c, first(out) + c);
      if (depthwise && !has_channels(out)) kept_[first(in) + c] = true;
    }
    if (!has_channels(out)) return;
    const size_t taps = weights.constant.size / count / (depthwise ? 1 : depth);
    for (size_t o = 0; o < count; ++o) {
      int64_t lo = 0, hi = 0;
      if (bias != nullptr) lo = hi = bias_of(*bias, o);
      const auto add = [&](int32_t weight, const Codes& codes) {
        const int32_t a = weight * (codes.lo - zero_point), b = weight * (codes.hi - zero_point);
        int32_t least = a < b ? a : b, most = a < b ? b : a;
        if (padded) least = least < 0 ? least : 0, most = most > 0 ? most : 0;
        lo += least;
        hi += most;
      };
      if (depthwise)
        for (size_t k = 0; k < taps; ++k) add(weight_code(weights, k * count + o), codes_[first(in) + o]);
      else
        for (size_t k = 0; k < taps * depth; ++k)
          add(weight_code(weights, o * taps * depth + k), codes_[first(in) + k % depth]);
      const Span<const float> scales = weights.quantization.scales;
      const double scale =
          double{tensor(in).quantization.scales[0]} * double{scales[scales.size == 1 ? 0 : o]};
      codes_[first(out) + o] =
          codes_of(node, {static_cast<double>(lo) * scale, static_cast<double>(hi) * scale}, kRounding);
    }
  }
  // Whether no sum leaves int32, whichever channels a bias takes in.
  static bool sums_fit(const TensorInfo& weights, const TensorInfo* bias, size_t count, size_t depth) {
    int64_t most = 0;
    for (size_t c = 0; bias != nullptr && c < count; ++c) {
      const int64_t value = bias_of(*bias, c);
      if (value > most || -value > most) most = value < 0 ? -value : value;
    }
    return most + int64_t{128} * 255 * static_cast<int64_t>(weights.constant.size / count / depth * depth) <=
           INT32_MAX;
  }
  static int32_t bias_of(const TensorInfo& bias, size_t c) {
    int32_t value = 0;
    memcpy(&value, bias.constant.data + 4 * c, 4);
    return value;
  }

  // Codes of the output between which these reals come to lie.
  Codes codes_of(const GraphNode& node, Reals reals, double rounding) const {
    const Quantization& output = tensor(node.outputs[0]).quantization;
    const auto clamp = node.options.value<Clamp>();
    const auto code = [&](double real, double moved) {
      double q = round_even(real / double{output.scales[0]} + moved) + output.zero_point;
      q = between(q, clamp.lo, clamp.hi);
      return static_cast<int16_t>(between(q, -128.0, 127.0));
    };
    return {code(reals.lo, -rounding), code(reals.hi, rounding)};
  }
  Reals reals_of(int32_t t, size_t c) const {
    const Quantization& quantization = tensor(t).quantization;
    const Codes codes = codes_[first(t) + c];
    return {double{quantization.scales[0]} * (codes.lo - quantization.zero_point),
            double{quantization.scales[0]} * (codes.hi - quantization.zero_point)};
  }

  bool has_tables(const GraphNode& node) const {
    const TensorInfo* const tables = node.op == Op::kLookup ? input_of(node, 1) : nullptr;
    return tables != nullptr && tables->dtype == DType::kS8 &&
           channels(node.inputs[0]) == channels(node.outputs[0]) &&
           (tables->constant.size == 256 || tables->constant.size == 256 * channels(node.inputs[0]));
  }
  void look_at_table(const GraphNode& node) {
    const int32_t in = node.inputs[0], out = node.outputs[0];
    const TensorInfo& tables = tensor(node.inputs[1]);
    const bool one = tables.constant.size == 256;
    for (size_t c = 0; c < channels(in); ++c) {
      const Codes codes = codes_[first(in) + c];
      Codes& made = codes_[first(out) + c];
      made = {127, -128};
      for (int32_t code = codes.lo; code <= codes.hi; ++code) {
        const int8_t entry = weight_code(tables, (one ? 0 : 256 * c) + static_cast<size_t>(code + 128));
        made.lo = entry < made.lo ? entry : made.lo;
        made.hi = entry > made.hi ? entry : made.hi;
      }
      join(first(in) + c, first(out) + c);
    }
  }

  // Side by side along the last axis, or one behind the other along another one. The codes stay.
  bool carries_joined(const GraphNode& node) {
    const int32_t out = node.outputs[0];
    const bool side_by_side = node.options.value<ConcatOptions>().axis + 1 == tensor(out).shape.rank;
    for (const int32_t input : node.inputs)
      if (!has_channels(input) || (!side_by_side && channels(input) != channels(out))) return false;
    size_t at = 0;
    for (const int32_t input : node.inputs) {
      for (size_t c = 0; c < channels(input); ++c) {
        Codes& made = codes_[first(out) + at + c];
        const Codes codes = codes_[first(input) + c];
        const bool is_first = side_by_side || input == node.inputs[0];
        made = {is_first || codes.lo < made.lo ? codes.lo : made.lo,
                is_first || codes.hi > made.hi ? codes.hi : made.hi};
        join(first(input) + c, first(out) + at + c);
      }
      if (side_by_side) at += channels(input);
    }
    return true;
  }

  // Channel c of the output is a mean, a maximum or a copy of elements of channel c of the input, or a sum over the inputs.
  bool carries(const GraphNode& node) {
    const int32_t out = node.outputs[0];
    for (const int32_t axis : node.options.value<ReduceOptions>().axes)
      if (axis + 1 == tensor(node.inputs[0]).shape.rank) return false;
    for (const int32_t input : node.inputs)
      if (!has_channels(input) || channels(out) % channels(input) != 0) return false;
    const bool padded = pads(node.options);
    for (size_t c = 0; c < channels(out); ++c) {
      Reals sum;
      double most = 0;
      for (const int32_t input : node.inputs) {
        const Reals reals = reals_of(input, c % channels(input));
        sum = {sum.lo + reals.lo, sum.hi + reals.hi};
        most += -reals.lo > reals.hi ? -reals.lo : reals.hi;
        join(first(input) + c % channels(input), first(out) + c);
      }
      if (padded) sum = {sum.lo < 0 ? sum.lo : 0, sum.hi > 0 ? sum.hi : 0};
      const double in_codes = most / double{tensor(out).quantization.scales[0]};
      codes_[first(out) + c] =
          codes_of(node, sum, kRounding + (node.inputs.size > 1 ? kSumRounding * in_codes : 0));
    }
    return true;
  }

  // ---- what is left

  size_t count_kept(int32_t t) {
    size_t kept = 0;
    for (size_t c = 0; c < channels(t); ++c) kept += stays(t, c) ? 1 : 0;
    return kept;
  }

  // A channel that comes back may be another tensor's, too: until nothing changes.
  void round_counts() {
    for (bool changes = true; changes;) {
      changes = false;
      for (const GraphNode& node : graph_.nodes) {
        const int32_t out = node.outputs[0];
        if (!is_layer(node) || !has_channels(out)) continue;
        size_t kept = count_kept(out);
        for (size_t c = 0; c < channels(out) && (kept == 0 || kept % kKeptMultiple != 0); ++c) {
          if (stays(out, c)) continue;
          kept_[root(first(out) + c)] = changes = true;
          kept = count_kept(out);
        }
      }
    }
  }

  // The elements of `info` whose index along `axis` is wanted, of `bytes` each, as a constant of their own.
  template <typename Wanted>
  int32_t shrunk(int32_t constant, int32_t axis, size_t bytes, const Wanted& wanted) {
    const TensorInfo info = tensor(constant);
    const auto length = static_cast<size_t>(info.shape[axis]);
    const auto inner = static_cast<size_t>(info.shape.elements(axis + 1, info.shape.rank)) * bytes;
    const auto outer = static_cast<size_t>(info.shape.elements(0, axis));
    const Span<int32_t> dims =
        arena_.copy(Span<const int32_t>{info.shape.dims, static_cast<size_t>(info.shape.rank)});
    size_t kept = 0;
    for (size_t i = 0; i < length; ++i) kept += wanted(i) ? 1 : 0;
    const Span<uint8_t> data = arena_.make<uint8_t>(outer * kept * inner);
    if (arena_.exhausted()) return constant;
    dims[static_cast<size_t>(axis)] = static_cast<int32_t>(kept);
    uint8_t* to = data.data;
    for (size_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < length; ++i)
        if (wanted(i)) {
          memcpy(to, info.constant.data + (o * length + i) * inner, inner);
          to += inner;
        }
    const int32_t made = add_constant(graph_, arena_, info.name, info.dtype, dims, data);
    Quantization quantization = info.quantization;
    if (quantization.scales.size == length && quantization.axis == axis) {
      const Span<float> scales = arena_.make<float>(kept);
      size_t at = 0;
      for (size_t i = 0; i < length && !scales.empty(); ++i)
        if (wanted(i)) scales[at++] = info.quantization.scales[i];
      quantization.scales = scales;
    }
    if (!arena_.exhausted()) graph_.tensors[static_cast<size_t>(made)].quantization = quantization;
    return made;
  }

  void shrink_layer(GraphNode& node, RemovedChannels& removed) {
    const QuantRule& rule = *rule_of(node);
    const int32_t in = node.inputs[0], out = node.outputs[0];
    const auto weights = static_cast<size_t>(rule.weight_input);
    const auto count = static_cast<size_t>(tensor(out).shape.back(0));
    const size_t kept_in = count_kept(in), kept_out = has_channels(out) ? count_kept(out) : count;
    removed.of_channels += static_cast<int64_t>(count);
    if (kept_in == channels(in) && kept_out == count) return;
    removed.channels += static_cast<int64_t>(count - kept_out);
    const auto of_output = [&](size_t c) { return stays(out, c); };
    const TensorInfo before = tensor(node.inputs[weights]);
    Span<int32_t> inputs = arena_.copy(Span<const int32_t>(node.inputs));
    if (!is_depthwise(rule, before) && kept_in != channels(in)) inputs = fold(node, rule);
    if (arena_.exhausted()) return;
    inputs[weights] = shrunk(inputs[weights], rule.weight_axis, 1, of_output);
    if (!is_depthwise(rule, before))
      inputs[weights] =
          shrunk(inputs[weights], before.shape.rank - 1, 1, [&](size_t c) { return stays(in, c); });
    const auto bias = static_cast<size_t>(rule.bias_input);
    if (rule.bias_input >= 0 && bias < inputs.size && inputs[bias] >= 0)
      inputs[bias] = shrunk(inputs[bias], 0, 4, of_output);
    node.inputs = inputs;
    removed.weight_bytes +=
        static_cast<int64_t>(before.constant.size - tensor(inputs[weights]).constant.size);
  }

  // The node's inputs with a bias that has taken in what channels that go are worth.
  Span<int32_t> fold(const GraphNode& node, const QuantRule& rule) {
    const int32_t in = node.inputs[0];
    const auto place = static_cast<size_t>(rule.bias_input);
    const TensorInfo weights = *input_of(node, rule.weight_input);
    const TensorInfo* const old = input_of(node, rule.bias_input);
    const auto count = static_cast<size_t>(weights.shape[rule.weight_axis]);
    const size_t depth = channels(in), taps = weights.constant.size / count / depth;
    const Span<int32_t> sums = arena_.make<int32_t>(count);
    const Span<int32_t> inputs =
        arena_.make<int32_t>(node.inputs.size > place ? node.inputs.size : place + 1);
    if (arena_.exhausted()) return inputs;
    bool changes = false;
    for (size_t o = 0; o < count; ++o) {
      sums[o] = old == nullptr ? 0 : bias_of(*old, o);
      for (size_t k = 0; k < taps * depth; ++k) {
        if (stays(in, k % depth)) continue;
        const int32_t worth = weight_code(weights, o * taps * depth + k) *
                              (codes_[first(in) + k % depth].lo - tensor(in).quantization.zero_point);
        sums[o] += worth;
        changes = changes || worth != 0;
      }
    }
    for (size_t i = 0; i < inputs.size; ++i) inputs[i] = i < node.inputs.size ? node.inputs[i] : -1;
    if (!changes) return inputs;
    const Quantization quantization = old == nullptr ? Quantization{} : old->quantization;
    const int32_t dims[] = {static_cast<int32_t>(count)};
    const int32_t made = add_constant(graph_, arena_, old == nullptr ? node.name : old->name, DType::kS32,
                                      {dims, 1}, {reinterpret_cast<const uint8_t*>(sums.data), 4 * count});
    if (arena_.exhausted()) return inputs;
    graph_.tensors[static_cast<size_t>(made)].quantization = quantization;
    inputs[place] = made;
    return inputs;
  }

  void shrink_tables(GraphNode& node) {
    const int32_t out = node.outputs[0];
    if (node.op != Op::kLookup || !has_channels(out) || count_kept(out) == channels(out) ||
        tensor(node.inputs[1]).constant.size == 256)
      return;
    node.inputs[1] = shrunk(node.inputs[1], 0, 1, [&](size_t c) { return stays(out, c); });
  }

  void shrink_tensor(int32_t t) {
    if (!has_channels(t)) return;
    const size_t kept = count_kept(t);
    if (kept == channels(t)) return;
    TensorInfo& info = graph_.tensors[static_cast<size_t>(t)];
    const Span<int32_t> dims =
        arena_.copy(Span<const int32_t>{info.shape.dims, static_cast<size_t>(info.shape.rank)});
    const Span<uint8_t> bits = arena_.make<uint8_t>((channels(t) + 7) / 8);
    if (arena_.exhausted()) return;
    for (size_t c = 0; c < channels(t); ++c)
      if (stays(t, c)) bits[c / 8] = static_cast<uint8_t>(bits[c / 8] | 1u << c % 8);
    dims[dims.size - 1] = static_cast<int32_t>(kept);
    graph_.kept_channels.push(arena_, {t, {static_cast<int32_t>(channels(t)), bits}});
    info.shape = {dims.data, info.shape.rank};
  }

  Graph& graph_;
  Arena& arena_;
  size_t count_ = 0;
  Span<size_t> first_;   // of each tensor: its first channel among all; SIZE_MAX: it has none here
  Span<size_t> parent_;  // of each channel: another one that it is joined with, or itself
  Span<Codes> codes_;    // of each channel, whatever the inputs are
  Span<bool> kept_;      // of each channel; of a root: of all that are joined with it
};

}  // namespace

RemovedChannels remove_constant_channels(Graph& graph, Arena& arena) {
  return ChannelAnalysis(graph, arena).run();
}

}  // namespace intaglio
