#include "importers/passes/passes.h"

#include <algorithm>
#include <cmath>

#include "importers/draft/op_traits.h"
#include "importers/draft/quantized_tables.h"

namespace intaglio::importers {

bool has_float_weights(const Draft& draft, const DraftNode& node) {
  if (traits(node.op).int8 != Int8Form::kWeighted) return false;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (node.input(i) < 0) return false;
    const DraftTensor& tensor = draft.tensor(node.input(i));
    if (!tensor.constant || tensor.dtype != DType::kF32) return false;
  }
  return true;
}

int32_t output_channels(const Draft& draft, const DraftNode& node) {
  return draft.tensor(node.output()).shape.back();
}

ChannelWeights channel_weights(const Draft& draft, const DraftNode& node, int32_t channel) {
  const Shape& shape = draft.tensor(node.inputs[1]).shape;
  const auto total = static_cast<size_t>(elements(shape));
  const auto c = static_cast<size_t>(channel);
  if (node.op == Op::kDepthwiseConv2d) {  // [kh, kw, c]
    const auto channels = static_cast<size_t>(shape.back());
    return {c, channels, total / channels};
  }
  const size_t count = total / static_cast<size_t>(shape[0]);  // [oc, ...]
  return {c * count, 1, count};
}

bool has_clamp(const DraftNode& node) {
  const auto clamp = node.options.value<Clamp>();
  return clamp.min != -INFINITY || clamp.max != INFINITY || clamp.lo != -128 || clamp.hi != 127;
}

void join_clamps(Clamp& inner, const Clamp& outer) {
  inner.min = std::clamp(inner.min, outer.min, outer.max);
  inner.max = std::clamp(inner.max, outer.min, outer.max);
  inner.lo = std::clamp(inner.lo, outer.lo, outer.hi);
  inner.hi = std::clamp(inner.hi, outer.lo, outer.hi);
}

bool is_per_channel(const DraftTensor& constant, int32_t channels) {
  const int64_t count = elements(constant.shape);
  return constant.constant && constant.dtype == DType::kF32 &&
         (count == 1 || (count == channels && constant.shape.back() == channels));
}

void set_channels(Draft& draft, DraftNode& node, const std::vector<double>& factors,
                  const std::vector<float>& bias) {
  DraftTensor weights = draft.tensor(node.inputs[1]), biases = draft.tensor(node.inputs[2]);
  auto w = values_of<float>(weights);
  for (size_t c = 0; c < factors.size(); ++c) {
    const ChannelWeights channel = channel_weights(draft, node, static_cast<int32_t>(c));
    for (size_t i = 0; i < channel.count; ++i) {
      float& weight = w[channel.first + i * channel.step];
      weight = static_cast<float>(weight * factors[c]);
    }
  }
  set_values(weights, w);
  const int32_t axis = node.op == Op::kDepthwiseConv2d ? 2 : 0;
  const bool has_grid = !weights.scales.empty() && (weights.axis == -1 || weights.axis == axis);
  const std::vector<float> old_scales = weights.scales;
  weights.scales.clear();
  weights.axis = -1;
  for (size_t c = 0; has_grid && c < factors.size(); ++c) {
    const double scale = old_scales[old_scales.size() == 1 ? 0 : c];
    weights.scales.push_back(static_cast<float>(scale * std::fabs(factors[c])));
    weights.axis = factors.size() > 1 ? axis : -1;
  }
  set_values(biases, bias);
  node.inputs[1] = draft.put(std::move(weights));
  node.inputs[2] = draft.put(std::move(biases));
}

void take_place(Draft& draft, Links& links, int32_t writer, DraftNode& folded) {
  take_over_output(draft, draft.node(writer), folded.output());
  links.producer[static_cast<size_t>(folded.output())] = writer;
  folded.outputs.clear();
}

void take_over_output(Draft& draft, DraftNode& node, int32_t tensor) {
  for (DraftNormStatistics& statistics : draft.norm_statistics)
    if (statistics.tensor == node.output()) statistics.tensor = tensor;
  node.outputs[0] = tensor;
}

// Factors of channels at the border of codes, as activations with a scale for each channel have them: x * f -> Quantize
// and Dequantize -> x / f. They go into the weights of the layer before and of the depthwise ones behind, whose codes
// stay as they are while their scales change.

namespace {

// The operands of a product of an activation and a factor for each of its channels.
struct ChannelProduct {
  int32_t x = -1;  // -1: it is none
  std::vector<double> factors;
};

ChannelProduct channel_product(const Draft& draft, const DraftNode& node) {
  if (node.op != Op::kMul) return {};
  const size_t constant = draft.tensor(node.inputs[0]).constant ? 0 : 1;
  const int32_t x = node.inputs[1 - constant];
  const DraftTensor& factors = draft.tensor(node.inputs[constant]);
  const Shape& shape = draft.tensor(x).shape;
  if (draft.tensor(x).constant || shape != draft.tensor(node.output()).shape ||
      !is_per_channel(factors, shape.back()))
    return {};
  const auto values = values_of<float>(factors);
  ChannelProduct product{x, {}};
  for (size_t c = 0; c < static_cast<size_t>(shape.back()); ++c)
    product.factors.push_back(values[values.size() == 1 ? 0 : c]);
  return product;
}

// A layer's bounds before the factors as bounds behind them. Zero and infinity stay; another bound is no loss where
// each channel's codes saturate before they reach it. False: it would be lost.
bool stretch(Clamp& clamp, const std::vector<double>& factors, const DraftTensor& codes) {
  const auto saturates = [&](float bound, int32_t code) {
    return std::all_of(factors.begin(), factors.end(), [&](double factor) {
      return quantize(static_cast<float>(bound * factor), codes) == code;
    });
  };
  if (clamp.min != 0.0f && clamp.min != -INFINITY) {
    if (!saturates(clamp.min, least_code(codes))) return false;
    clamp.min = -INFINITY;
  }
  if (clamp.max != 0.0f && clamp.max != INFINITY) {
    if (!saturates(clamp.max, greatest_code(codes))) return false;
    clamp.max = INFINITY;
  }
  return true;
}

class Folding {
 public:
  explicit Folding(Draft& draft) : draft_(draft), links_(draft) {}

  bool run() {
    for (DraftNode& node : draft_.nodes) {
      const ChannelProduct product = channel_product(draft_, node);
      if (product.x < 0) continue;
      if (into_layer_before(node, product))
        node.outputs.clear();  // dead
      else
        into_layers_behind(node, product);
    }
    return changed_;
  }

 private:
  bool into_layer_before(const DraftNode& product, const ChannelProduct& of) {
    if (!links_.single_use(of.x) || !links_.single_use(product.output())) return false;
    const auto reader = static_cast<size_t>(links_.consumers_of(product.output())[0]);
    const int32_t writer = links_.producer_of(of.x);
    if (writer < 0 || draft_.nodes[reader].op != Op::kQuantize) return false;
    DraftNode& layer = draft_.node(writer);
    const auto is_positive = [](double factor) { return factor > 0 && std::isfinite(factor); };
    if (!has_float_weights(draft_, layer) || !std::all_of(of.factors.begin(), of.factors.end(), is_positive))
      return false;
    auto clamp = layer.options.value<Clamp>();
    if (!stretch(clamp, of.factors, draft_.tensor(draft_.nodes[reader].output()))) return false;
    join_clamps(clamp, product.options.as<Clamp>());
    auto bias = values_of<float>(draft_.tensor(layer.inputs[2]));
    for (size_t c = 0; c < bias.size(); ++c) bias[c] = static_cast<float>(bias[c] * of.factors[c]);
    set_channels(draft_, layer, of.factors, bias);
    layer.options.as<Clamp>() = clamp;
    take_over_output(draft_, layer, product.output());
    links_.producer[static_cast<size_t>(product.output())] = writer;
    changed_ = true;
    return true;
  }

  void into_layers_behind(const DraftNode& product, const ChannelProduct& of) {
    if (links_.writer(draft_, of.x, Op::kDequantize) == nullptr || has_clamp(product)) return;
    for (const int32_t index : links_.consumers_of(product.output())) {
      DraftNode& layer = draft_.node(index);
      if (layer.op != Op::kDepthwiseConv2d || layer.inputs[0] != product.output() ||
          !has_float_weights(draft_, layer) ||
          output_channels(draft_, layer) != static_cast<int32_t>(of.factors.size()))
        continue;
      set_channels(draft_, layer, of.factors, values_of<float>(draft_.tensor(layer.inputs[2])));
      layer.inputs[0] = of.x;
      changed_ = true;
    }
  }

  Draft& draft_;
  Links links_;
  bool changed_ = false;
};

}  // namespace

bool fold_channel_scales(Draft& draft) { return Folding(draft).run(); }

// A factor of an operand, or of the result, of a product of two activations goes into the product, which multiplies by it in
// any case. Nodes that move elements may stand between an operand's factor and the product.

namespace {

// The number above 0 by which a Mul or Div in FP32 multiplies, and x; 0: none.
float factor_of(const Draft& draft, const DraftNode& node, int32_t* x) {
  if ((node.op != Op::kMul && node.op != Op::kDiv) || node.inputs.size() != 2 || has_clamp(node)) return 0.0f;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const DraftTensor& number = draft.tensor(node.inputs[1 - i]);
    if (node.op == Op::kDiv && i == 1) break;
    if (!number.constant || number.dtype != DType::kF32 || elements(number.shape) != 1) continue;
    *x = node.inputs[i];
    const float value = values_of<float>(number)[0], factor = node.op == Op::kMul ? value : 1.0f / value;
    const bool fits = factor > 1e-18f && factor < 1e18f && !draft.tensor(*x).constant &&
                      draft.tensor(*x).dtype == DType::kF32 &&
                      draft.tensor(*x).shape == draft.tensor(node.output()).shape;
    return fits ? factor : 0.0f;
  }
  return 0.0f;
}

// Node `product` reads what stands before the factor.
bool take_operand(Draft& draft, Links& links, int32_t product, size_t operand) {
  int32_t reader = product;
  size_t input = operand;
  while (true) {
    int32_t& tensor = draft.node(reader).inputs[input];
    const int32_t index = links.producer_of(tensor);
    if (index < 0 || !links.single_use(tensor)) return false;
    DraftNode& writer = draft.node(index);
    int32_t x = -1;
    if (const float factor = factor_of(draft, writer, &x); factor > 0.0f) {
      draft.node(product).options.as<BatchMatMulOptions>().scale *= factor;
      std::vector<int32_t>& readers = links.consumers[static_cast<size_t>(x)];
      std::replace(readers.begin(), readers.end(), index, reader);
      tensor = x;
      writer.outputs.clear();  // dead
      return true;
    }
    const bool moves = traits(writer.op).int8 == Int8Form::kMoves && !writer.inputs.empty();
    if (!moves || draft.tensor(writer.output()).dtype != DType::kF32) return false;
    reader = index;
    input = 0;
  }
}

bool take_result(Draft& draft, Links& links, DraftNode& mul) {
  int32_t x = -1;
  const float factor = factor_of(draft, mul, &x);
  const int32_t index = factor > 0.0f ? links.producer_of(x) : -1;
  if (index < 0 || !links.single_use(x)) return false;
  DraftNode& product = draft.node(index);
  if (product.op != Op::kBatchMatMul) return false;
  product.options.as<BatchMatMulOptions>().scale *= factor;
  take_place(draft, links, index, mul);
  return true;
}

}  // namespace

bool fold_product_scale(Draft& draft) {
  bool changed = false;
  Links links(draft);
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    DraftNode& node = draft.nodes[n];
    if (node.outputs.empty()) continue;  // dead
    if (node.op == Op::kBatchMatMul && draft.tensor(node.output()).dtype == DType::kF32) {
      for (const size_t operand : {size_t{0}, size_t{1}})
        while (take_operand(draft, links, static_cast<int32_t>(n), operand)) changed = true;
    } else {
      changed = take_result(draft, links, node) || changed;
    }
  }
  return changed;
}

// A batch normalization that nothing before it could take is a depthwise convolution with a 1 x 1 window.

namespace {

void add_depthwise(Draft& draft, const DraftNode& norm) {
  const auto gamma = values_of<float>(draft.tensor(norm.inputs[1]));
  const auto beta = values_of<float>(draft.tensor(norm.inputs[2]));
  const auto mean = values_of<float>(draft.tensor(norm.inputs[3]));
  const auto variance = values_of<float>(draft.tensor(norm.inputs[4]));
  std::vector<float> weights, bias;
  for (size_t c = 0; c < gamma.size(); ++c) {
    const double factor = gamma[c] / std::sqrt(double{variance[c]} + double{norm.epsilon});
    weights.push_back(static_cast<float>(factor));
    bias.push_back(static_cast<float>(beta[c] - mean[c] * factor));
  }
  const auto channels = static_cast<int32_t>(gamma.size());
  const std::string name = draft.tensor(norm.output()).name;
  const int32_t w = add_constant(draft, name + "/weights", DType::kF32, {1, 1, channels}, weights);
  const int32_t b = add_constant(draft, name + "/bias", DType::kF32, {channels}, bias);
  const Shape shape = draft.tensor(norm.input()).shape;
  if (shape.size() == 4) {
    add_node({draft, norm.name, norm.source}, Op::kDepthwiseConv2d, {norm.input(), w, b}, norm.output());
    return;
  }
  const Shape pixel{shape[0], 1, 1, channels};  // a vector is a picture of one pixel
  const int32_t x = add_reshape({draft, name + "/pixel", norm.source}, norm.input(), pixel);
  const int32_t y = add_activation_like(draft, name, norm.output(), pixel);
  add_node({draft, norm.name, norm.source}, Op::kDepthwiseConv2d, {x, w, b}, y);
  add_node({draft, norm.name, norm.source}, Op::kReshape, {y}, norm.output());
}

}  // namespace

bool replace_batch_norm(Draft& draft) {
  return rewrite_nodes(draft, [&](const DraftNode& node) {
    const size_t rank = node.op == kBatchNorm ? draft.tensor(node.input()).shape.size() : 0;
    if (rank != 2 && rank != 4) return false;
    add_depthwise(draft, node);
    return true;
  });
}

}  // namespace intaglio::importers
