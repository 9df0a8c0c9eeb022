// An FP32 node between Dequantize and Quantize becomes a node on codes, of 8 or 16 bits, with the file's own scales.
#include <algorithm>
#include <cmath>

#include "importers/draft/draft.h"
#include "importers/draft/op_traits.h"
#include "importers/draft/quantized_tables.h"
#include "importers/passes/matcher.h"
#include "importers/passes/passes.h"
#include "runtime/quantization_range.h"

namespace intaglio::importers {
namespace {

// Gives the node the codes that its weights are on their grid, and a bias in units of the products' scales; `input` is
// the tensor of codes that it will read. False, and nothing changed, where the weights lie on no grid, on one of more than
// 8 bits, or on one that the format cannot hold.
bool quantize_weights(Draft& draft, DraftNode& node, int32_t input);

// What moves data only takes Dequantize behind itself, so that the next node finds it there, and a Quantize before itself.
// A node stays FP32 if no Quantize follows, or if its codes would round where the file does not.
class QuantizeSweep {
 public:
  explicit QuantizeSweep(Draft& draft) : draft_(draft), links_(draft), taken_(draft.nodes.size(), false) {}

  bool run() {
    old_ = draft_.nodes;
    draft_.nodes.clear();
    for (size_t n = 0; n < old_.size(); ++n)
      if (!taken_[n]) visit(old_[n]);
    return changed_;
  }

 private:
  // The codes that an FP32 tensor stands for; -1: none.
  int32_t& codes(int32_t tensor) {
    if (codes_.size() < draft_.tensors.size()) codes_.resize(draft_.tensors.size(), -1);
    return codes_[static_cast<size_t>(tensor)];
  }
  bool is_constant(int32_t tensor) const { return draft_.tensor(tensor).constant; }
  // An activation of reals: no constant, no indices.
  bool is_operand(int32_t tensor) const {
    return !is_constant(tensor) && draft_.tensor(tensor).dtype == DType::kF32;
  }

  void visit(DraftNode node) {
    if (node.op == Op::kDequantize) codes(node.output()) = node.input();
    if (node.op == Op::kQuantize && codes(node.input()) >= 0) return requantize(node);
    if (draft_.tensor(node.output()).dtype != DType::kF32 || node.op == Op::kDequantize)
      return keep(std::move(node));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int32_t input = node.inputs[i];
      if (input >= 0 && is_operand(input) && codes(input) < 0) return keep(std::move(node));
    }
    // A node that only moves elements never becomes codes so, and a file may have a long row of such nodes.
    if (traits(node.op).int8 != Int8Form::kMoves && become_codes(node, quantized_output(node))) return;
    if (moves_data(node)) return behind(std::move(node));
    keep(std::move(node));
  }

  void keep(DraftNode node) { draft_.nodes.push_back(std::move(node)); }

  void requantize(const DraftNode& node) {
    changed_ = true;
    const int32_t from = codes(node.input());
    if (draft_.tensor(from).same_quantization(draft_.tensor(node.output()))) {
      add_node({draft_, node.name, node.source}, Op::kReshape, {from}, node.output());
    } else {
      add_requantize({draft_, node.name, node.source}, from, node.output());
    }
  }

  // The one Quantize that reads a node's result, and what only moves elements between the two, by their places.
  struct Target {
    int32_t codes = -1;    // that Quantize's output; -1: there is none
    size_t quantizer = 0;  // its place
    std::vector<size_t> movers;
  };

  Target quantized_output(const DraftNode& node) {
    Target target;
    int32_t tensor = node.output();
    while (static_cast<size_t>(tensor) < links_.consumers.size() && links_.single_use(tensor)) {
      const auto reader = static_cast<size_t>(links_.consumers_of(tensor)[0]);
      const DraftNode& next = old_[reader];
      if (next.op == Op::kQuantize) {
        target.codes = next.output();
        target.quantizer = reader;
        return target;
      }
      const bool moves = traits(next.op).int8 == Int8Form::kMoves && next.input() == tensor &&
                         next.outputs.size() == 1 && draft_.tensor(next.output()).dtype == DType::kF32;
      if (!moves) return {};
      target.movers.push_back(reader);
      tensor = next.output();
    }
    return {};
  }

  // The tensor that the node writes in codes: the Quantize's output, or its own result where that is moved first, which becomes
  // codes with all that the movers give.
  int32_t take(const DraftNode& node, const Target& target) {
    taken_[target.quantizer] = true;
    if (target.movers.empty()) return target.codes;
    const DraftTensor& codes = draft_.tensor(target.codes);
    const auto become_like = [&](DraftTensor& tensor) {
      tensor.dtype = codes.dtype;
      tensor.scales = codes.scales;
      tensor.zero_point = codes.zero_point;
    };
    become_like(draft_.tensor(node.output()));
    for (const size_t mover : target.movers) become_like(draft_.tensor(old_[mover].output()));
    old_[target.movers.back()].outputs[0] = target.codes;
    return node.output();
  }

  // Whether each value of the result is a code of the input's, just as it stands.
  bool moves_data(const DraftNode& node) {
    if (node.input() < 0 || codes(node.input()) < 0) return false;
    const DraftTensor& in = draft_.tensor(codes(node.input()));
    if (in.dtype == DType::kS16 && node.op != Op::kClamp && op_of_s16(node) != node.op) return false;
    switch (traits(node.op).int8) {
      case Int8Form::kMoves:
        return true;
      case Int8Form::kSelects:
        if (node.op == Op::kPad) return is_code(node.options.as<PadOptions>().value, in);
        if (node.op == Op::kMaxUnpool2d) return draft_.tensor(codes(node.inputs[1])).dtype == in.dtype;
        return keeps_codes(node.options.as<Clamp>(), in);
      case Int8Form::kRescales:
        return node.op == Op::kClamp && in.dtype == DType::kS8 && keeps_codes(node.options.as<Clamp>(), in);
      case Int8Form::kInterpolates:
        return node.options.as<ResizeOptions>().interpolation == Interpolation::kNearest;
      case Int8Form::kJoins:
        return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
          return codes(input) >= 0 &&
                 draft_.tensor(codes(input)).same_quantization(draft_.tensor(codes(node.input())));
        });
      default:
        return false;
    }
  }

  static bool keeps_codes(const Clamp& clamp, const DraftTensor& in) {
    return (clamp.min <= real_of(least_code(in), in) || is_code(clamp.min, in)) &&
           (clamp.max >= real_of(greatest_code(in), in) || is_code(clamp.max, in));
  }
  static bool is_code(float value, const DraftTensor& tensor) {
    return real_of(quantize(value, tensor), tensor) == value;
  }

  // Whether a bilinear Resize on codes differs from rounding the exact result in the ties alone: its weights
  // have 11 bits, which the coordinates o * in / out and the like must fit.
  bool has_exact_weights(const DraftNode& node) {
    const Shape& in = draft_.tensor(node.input()).shape;
    const Shape& out = draft_.tensor(node.output()).shape;
    for (const size_t axis : {size_t{1}, size_t{2}}) {
      const int64_t from = in[axis], to = out[axis], steps = 2048;
      const Coordinates coordinates = node.options.as<ResizeOptions>().coordinates;
      const bool corners = coordinates == Coordinates::kAlignCorners;
      const int64_t divisor = corners ? std::max<int64_t>(to - 1, 1) : to;
      if (steps * (corners ? from - 1 : from) % divisor != 0) return false;
      if (coordinates == Coordinates::kHalfPixel && steps * (from - to) % (2 * to) != 0) return false;
    }
    return true;
  }

  // The node on codes, and Dequantize behind it. A Transpose alone that comes so far is no change: push_transposes
  // brings it back behind the Dequantize, where it has looked for more to do already.
  void behind(DraftNode node) {
    changed_ = changed_ || node.op != Op::kTranspose;
    const int32_t output = node.output();
    for (int32_t& input : node.inputs)
      if (is_operand(input)) input = codes(input);
    const std::string name = draft_.tensor(output).name;
    const Shape shape = draft_.tensor(output).shape;
    const int32_t moved = add_activation_like(draft_, name + "/codes", node.input(), shape);
    node.outputs[0] = moved;
    clamp_codes(node);
    const std::string label = node.name;
    draft_.nodes.push_back(std::move(node));
    add_node({draft_, label + "/dequantize", "DequantizeLinear"}, Op::kDequantize, {moved}, output);
    codes(output) = moved;
  }

  void clamp_codes(DraftNode& node) {
    const DraftTensor& output = draft_.tensor(node.output());
    Clamp* const clamp = node.options.get<Clamp>();
    if (clamp == nullptr) return;
    if (output.dtype == DType::kS16) {
      clamp->lo = least_code(output);
      clamp->hi = greatest_code(output);
    }
    if (clamp->min != -INFINITY) clamp->lo = quantize(clamp->min, output);
    if (clamp->max != INFINITY) clamp->hi = quantize(clamp->max, output);
    clamp->min = -INFINITY;
    clamp->max = INFINITY;
  }

  bool become_codes(DraftNode node, const Target& place) {
    if (place.codes < 0 || !can_move(place)) return false;
    if (is_wide(node, place.codes)) return become_s16(std::move(node), place);
    const int32_t target = place.codes;
    switch (traits(node.op).int8) {
      case Int8Form::kNone:
        if (!become_softmax(node, target)) return false;
        break;
      case Int8Form::kMoves:
        return false;
      case Int8Form::kWeighted:
        if (!quantize_weights(draft_, node, codes(node.input()))) return false;
        break;
      case Int8Form::kArithmetic:
        if (node.op == Op::kAdd || node.op == Op::kSub)
          node.options.as<AddOptions>().add_bits = draft_.add_bits;
        if (!place.movers.empty() || !take_constants(node, target)) return false;
        break;
      case Int8Form::kMultiplies:
        if (!take_matrices(node)) return false;
        break;
      case Int8Form::kSelects:
        if (moves_data(node)) return false;
        // The same as Quantize behind it: what is greater stays so, and bounds and what is put in are rounded as
        // it rounds them.
        node.inputs[0] = requantized(node, node.input(), target);
        break;
      case Int8Form::kInterpolates:
        if (moves_data(node) || !has_exact_weights(node) ||
            !draft_.tensor(codes(node.input())).same_quantization(draft_.tensor(target)))
          return false;
        break;
      case Int8Form::kJoins:
      case Int8Form::kCompares:
        for (int32_t& input : node.inputs) {
          if (is_constant(input)) return false;
        }
        for (int32_t& input : node.inputs) input = requantized(node, input, target);
        break;
      case Int8Form::kRescales:
        break;
    }
    for (int32_t& input : node.inputs)
      if (is_operand(input)) input = codes(input);
    const int32_t written = take(node, place);
    return finish(std::move(node), written);
  }

  bool finish(DraftNode node, int32_t target) {
    node.outputs[0] = target;
    clamp_codes(node);
    draft_.nodes.push_back(std::move(node));
    changed_ = true;
    return true;
  }

  // Whether it reads or writes codes of 16 bits: then it computes on these alone.
  bool is_wide(const DraftNode& node, int32_t target) {
    return draft_.tensor(target).dtype == DType::kS16 ||
           std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
             return input >= 0 && is_operand(input) && draft_.tensor(codes(input)).dtype == DType::kS16;
           });
  }

  // Inputs of 8 bits are widened without a loss. A result of 8 bits is rounded from 16, of a 128th of its scale.
  bool become_s16(DraftNode node, const Target& place) {
    constexpr float kFiner = 128.0f;
    const OpTraits& row = traits(node.op);
    if (op_of_s16(node) == Op::kNone || row.int8 == Int8Form::kMoves || moves_data(node)) return false;
    const DraftTensor end = draft_.tensor(place.codes);
    const bool narrows = end.dtype == DType::kS8;
    if (narrows && !is_scale(end.scales[0] / kFiner)) return false;
    const bool same_scale = row.int8 == Int8Form::kSelects || row.int8 == Int8Form::kJoins ||
                            row.int8 == Int8Form::kCompares || row.int8 == Int8Form::kInterpolates;
    if (same_scale && narrows) return false;
    if (row.int8 == Int8Form::kInterpolates &&
        (!has_exact_weights(node) || !draft_.tensor(codes(node.input())).same_quantization(end)))
      return false;
    std::vector<int32_t> inputs = node.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      int32_t& input = inputs[i];
      if (input < 0 || draft_.tensor(input).dtype != DType::kF32 || quant_rule(node.op).copies(i)) continue;
      if (!is_constant(input)) {
        input = same_scale ? requantized(node, input, place.codes) : widened(node, codes(input));
      } else if (row.int8 == Int8Form::kArithmetic) {
        const std::optional<DraftTensor> exact = exact_codes_s16(draft_.tensor(input));
        if (!exact) return false;
        input = draft_.put(*exact);
      } else if (row.int8 != Int8Form::kWeighted) {
        return false;
      }
    }
    if (row.int8 == Int8Form::kWeighted) {
      if (!quantize_weights(draft_, node, inputs[0])) return false;
      std::copy(node.inputs.begin() + 1, node.inputs.end(), inputs.begin() + 1);
    }
    node.inputs = inputs;
    if (node.op == Op::kSoftmax) add_softmax_table(node, inputs[0], end.name);
    const int32_t written = take(node, place);
    if (!narrows) return finish(std::move(node), written);
    const std::string result = draft_.tensor(written).name, name = node.name, source = node.source;
    const int32_t finer = add_activation(draft_, result + "/s16", DType::kS16, draft_.tensor(written).shape);
    draft_.tensor(finer).scales = {end.scales[0] / kFiner};
    finish(std::move(node), finer);
    add_requantize({draft_, name + "/narrow", source}, finer, written);
    return true;
  }

  // Codes of 8 bits as those of 16, of the same scale.
  int32_t widened(const DraftNode& node, int32_t narrow) {
    if (draft_.tensor(narrow).dtype == DType::kS16) return narrow;
    const DraftTensor from = draft_.tensor(narrow);
    const int32_t wide = add_activation(draft_, from.name + "/s16", DType::kS16, from.shape);
    draft_.tensor(wide).scales = from.scales;
    add_requantize({draft_, node.name + "/widen", node.source}, narrow, wide);
    return wide;
  }

  bool can_move(const Target& place) const {
    if (draft_.tensor(place.codes).dtype == DType::kS8) return true;
    return std::all_of(place.movers.begin(), place.movers.end(),
                       [&](size_t mover) { return op_of_s16(old_[mover]) != Op::kNone; });
  }

  bool become_softmax(DraftNode& node, int32_t target) {
    if (node.op != Op::kSoftmax) return false;
    add_softmax_table(node, codes(node.input()), draft_.tensor(target).name);
    return true;
  }

  // The parameters of the codes that it reads.
  void add_softmax_table(DraftNode& node, int32_t input, const std::string& name) {
    const DraftTensor& in = draft_.tensor(input);
    const std::vector<int32_t> table = softmax_table(in.scales[0], in.shape.back(), in.dtype);
    const Shape shape = {static_cast<int32_t>(table.size())};
    node.inputs.push_back(add_constant(draft_, name + "/table", DType::kS32, shape, table));
  }

  int32_t requantized(const DraftNode& node, int32_t input, int32_t target) {
    const int32_t from = codes(input);
    if (draft_.tensor(from).same_quantization(draft_.tensor(target))) return from;
    const std::string name = draft_.tensor(input).name + "/requantized";
    const Shape shape = draft_.tensor(input).shape;
    const int32_t same = add_activation_like(draft_, name, target, shape);
    add_requantize({draft_, node.name + "/requantize", node.source}, from, same);
    return same;
  }

  // A product of two activations, or of one and matrices that are exact codes; false where they are not, or where
  // a sum may leave int32.
  bool take_matrices(DraftNode& node) {
    constexpr int32_t kMaxTerms = INT32_MAX / (255 * 255);
    if (draft_.tensor(node.input()).shape.back() > kMaxTerms) return false;
    for (int32_t& input : node.inputs) {
      if (!is_constant(input)) continue;
      const std::optional<DraftTensor> exact = exact_codes(draft_.tensor(input));
      if (!exact) return false;
      input = draft_.put(*exact);
    }
    return true;
  }

  // Constant operands as codes of their own grid, or the node as a table; false where neither is exact.
  bool take_constants(DraftNode& node, int32_t target) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_constant(node.inputs[i])) continue;
      if (node.inputs.size() != 2 || is_constant(node.inputs[1 - i])) return false;
      const DraftTensor& constant = draft_.tensor(node.inputs[i]);
      const std::optional<DraftTensor> exact = exact_codes(constant);
      if (exact && elements(constant.shape) > 1) {
        node.inputs[i] = draft_.put(*exact);
        continue;
      }
      const int32_t x = node.inputs[1 - i];
      const std::vector<int8_t> tables =
          operand_tables(draft_, node, i, draft_.tensor(codes(x)), draft_.tensor(target));
      if (tables.empty()) return false;
      const auto channels = static_cast<int32_t>(tables.size() / 256);
      const Shape shape = channels == 1 ? Shape{256} : Shape{channels, 256};
      node.inputs = {x,
                     add_constant(draft_, draft_.tensor(target).name + "/table", DType::kS8, shape, tables)};
      node.become(Op::kLookup);
      return true;
    }
    return true;
  }

  Draft& draft_;
  const Links links_;
  std::deque<DraftNode> old_;   // as the pass found them
  std::vector<bool> taken_;     // Quantize nodes that the node before them has taken in
  std::vector<int32_t> codes_;  // of each FP32 tensor that a Dequantize makes
  bool changed_ = false;
};

}  // namespace

bool quantize_nodes(Draft& draft) { return QuantizeSweep(draft).run(); }

// A layer or a mean that reads codes and whose result the file leaves in FP32: its int32 sums become FP32 without a rounding
// between them, and its weights never do.

namespace {

bool is_one_place(const Shape& shape) { return elements(shape) == int64_t{shape[0]} * shape.back(); }

// The window is the whole picture, and nothing but it.
bool is_whole_map(const DraftNode& node, const Shape& in) {
  const Window2d& window = node.options.as<Window2d>();
  return in.size() == 4 && window.kernel_h == in[1] && window.kernel_w == in[2] && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0;
}

bool is_mean_of_map(const Draft& draft, const DraftNode& node) {
  return !has_clamp(node) && is_one_place(draft.tensor(node.output()).shape) &&
         (node.op == Op::kMean ||
          (node.op == Op::kAvgPool2d && is_whole_map(node, draft.tensor(node.input()).shape)));
}

// A convolution of one tap on a map of one place is a matrix product, whose weights are read in place.
void become_product(Draft& draft, DraftNode& node) {
  const Shape in = draft.tensor(node.input()).shape;
  if (node.op != Op::kConv2d || has_clamp(node) || !is_whole_map(node, in) || !is_one_place(in) ||
      node.options.as<Conv2dOptions>().groups > 1)
    return;
  DraftTensor& weights = draft.tensor(node.inputs[1]);
  weights.shape = {weights.shape[0], weights.shape[3]};
  node.become(Op::kFullyConnected);
}

// `is_rounded`: a Quantize reads the result. Then a mean is quantize_nodes' business; a layer that it has left, since
// others read the result, too, keeps what the file says.
bool read_codes(Draft& draft, DraftNode& node, int32_t codes, bool is_rounded) {
  if (!is_rounded && is_mean_of_map(draft, node)) {
    if (node.op == Op::kAvgPool2d) {
      node.become(Op::kMean);
      node.options.as<ReduceOptions>().axes = draft.list({1, 2});
    }
  } else {
    if (traits(node.op).int8 != Int8Form::kWeighted || node.inputs.size() > 3 ||
        !quantize_weights(draft, node, codes))
      return false;
    become_product(draft, node);
  }
  node.inputs[0] = codes;
  return true;
}

}  // namespace

bool quantize_answers(Draft& draft) {
  const Links links(draft);
  const std::deque<DraftNode> old = draft.nodes;
  draft.nodes.clear();
  bool changed = false;
  for (DraftNode node : old) {
    const int32_t border = node.input() < 0 ? -1 : links.producer_of(node.input());
    const bool reads_codes = border >= 0 && old[static_cast<size_t>(border)].op == Op::kDequantize &&
                             draft.tensor(old[static_cast<size_t>(border)].input()).dtype == DType::kS8;
    const int32_t output = node.output();
    bool is_rounded = false;
    for (const int32_t reader : links.consumers_of(output))
      is_rounded |= old[static_cast<size_t>(reader)].op == Op::kQuantize;
    const bool leaves = reads_codes && draft.tensor(output).dtype == DType::kF32 &&
                        read_codes(draft, node, old[static_cast<size_t>(border)].input(), is_rounded);
    changed |= leaves;
    const Clamp clamp = node.options.value<Clamp>();
    // A matrix product that leaves codes has no clamp.
    const bool apart = leaves && node.op == Op::kFullyConnected && has_clamp(node);
    const std::string name = node.name, source = node.source;
    if (apart) {
      node.options.as<Clamp>() = Clamp();
      node.outputs[0] =
          add_activation(draft, draft.tensor(output).name + "/sum", DType::kF32, draft.tensor(output).shape);
    }
    const int32_t sum = node.output();
    draft.nodes.push_back(std::move(node));
    if (!apart) continue;
    add_node({draft, name + "/clamp", source}, Op::kClamp, {sum}, output);
    draft.nodes.back().options.as<Clamp>() = clamp;
  }
  return changed;
}

namespace {

// Scales that the format cannot hold, or with which the bias would leave its 32 bits, as channels without weights have
// them, are raised; the number of these. A scale that is only so much too small as rounding made it stays. `most` is
// the largest code of a bias.
int32_t raise_scales(DraftTensor& weights, const std::vector<float>& bias, double in, double most,
                     int32_t axis) {
  constexpr double kRounding = 1.0 + 0x1p-20;
  std::vector<float> scales;
  int32_t raised = 0;
  for (size_t c = 0; c < bias.size(); ++c) {
    const float own = weights.scales[weights.scales.size() == 1 ? 0 : c];
    const double least =
        std::max(std::fabs(static_cast<double>(bias[c])) / (in * most), std::ldexp(1.0, -40));
    scales.push_back(own * kRounding < least ? static_cast<float>(least)
                                             : std::max(own, std::ldexp(1.0f, -40)));
    raised += scales.back() != own;
  }
  if (raised == 0) return 0;
  weights.scales = scales;
  weights.axis = scales.size() > 1 ? axis : -1;
  return raised;
}

bool quantize_weights(Draft& draft, DraftNode& node, int32_t input) {
  if (!has_float_weights(draft, node)) return false;
  DraftTensor weights = draft.tensor(node.inputs[1]);
  DraftTensor bias = draft.tensor(node.inputs[2]);
  const int32_t axis = node.op == Op::kDepthwiseConv2d ? 2 : 0;
  const int32_t channels = output_channels(draft, node);
  // One weight a channel, as batch normalization between quantizers has it, is the last code of a scale of its own.
  if (weights.scales.empty() && elements(weights.shape) == channels) take_near_grid(weights, axis);
  if (weights.scales.empty() || (weights.axis >= 0 && weights.axis != axis)) return false;
  const auto w = values_of<float>(weights);
  const auto b = values_of<float>(bias);
  const auto is_finite = [](float v) { return std::isfinite(v); };
  if (!std::all_of(w.begin(), w.end(), is_finite) || !std::all_of(b.begin(), b.end(), is_finite))
    return false;  // named when the graph is made
  const double in = draft.tensor(input).scales[0];
  // Sums of 16 bits have 64: a bias may have all of its 32.
  const double most = draft.tensor(input).dtype == DType::kS16 ? 0x1p31 - 1 : 0x1p30;
  const int32_t coarser = raise_scales(weights, b, in, most, axis);
  constexpr double kRounding = 0.05;  // of what codes times scales are in a file
  std::vector<int32_t> codes(w.size()), sums;
  int32_t between = 0;
  for (int32_t c = 0; c < channels; ++c) {
    const double scale = weights.scales[weights.scales.size() == 1 ? 0 : static_cast<size_t>(c)];
    const ChannelWeights part = channel_weights(draft, node, c);
    std::vector<double> exact;
    bool is_between = false;
    for (size_t i = 0; i < part.count; ++i) {
      exact.push_back(std::clamp(w[part.first + i * part.step] / scale, -1e6, 1e6));
      is_between |= std::fabs(exact.back() - std::nearbyint(exact.back())) > kRounding;
    }
    const std::vector<int32_t> near = is_between ? near_codes(exact) : std::vector<int32_t>();
    for (size_t i = 0; i < part.count; ++i)
      codes[part.first + i * part.step] =
          is_between ? near[i] : static_cast<int32_t>(std::nearbyint(exact[i]));
    between += is_between;
    const double sum = std::nearbyint(b[static_cast<size_t>(c)] / (in * scale));
    sums.push_back(static_cast<int32_t>(std::clamp(sum, -2147483647.0, 2147483647.0)));
  }
  const auto is_8_bits = [](int32_t code) { return code >= -255 && code <= 255; };  // less a zero point
  if (!std::all_of(codes.begin(), codes.end(), is_8_bits)) return false;
  set_weight_codes(weights, codes);
  if (!std::all_of(weights.scales.begin(), weights.scales.end(), is_scale)) return false;  // a huge bias
  if (coarser > 0)
    draft.notes.push_back(text(label(node), ": ", coarser, " of ", channels,
                               " channels have a scale too small for their bias; they got a coarser one"));
  if (between > coarser)
    draft.notes.push_back(
        text(label(node), ": ", between, " of ", channels,
             " channels hold weights between the codes of one scale a channel, which int8 has; they "
             "are rounded, by half a step and more where that keeps their sum"));
  bias.dtype = DType::kS32;
  bias.scales.clear();
  bias.axis = -1;
  set_values(bias, sums);
  node.inputs[1] = draft.put(std::move(weights));
  node.inputs[2] = draft.put(std::move(bias));
  return true;
}

}  // namespace
}  // namespace intaglio::importers
